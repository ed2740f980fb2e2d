#pragma once

#include <cstdint>
#include <vector>

#include "metrics/prometheus/families.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/record.h"

namespace weir {

/// Gauges of the last values of compressed gradients, by group: density, threshold, and the
/// part kept back. Not thread-safe.
class GradientGauges {
 public:
  /// `per_tensor` adds series for each of the first kMaxPerTensor gradients.
  GradientGauges(Families& families, const BucketNames& names, bool per_tensor)
      : families_(families), names_(names), per_tensor_(per_tensor) {}

  /// Adds a record of a gradient (Stage::kGradient or kResidual).
  void Add(const StageRecord& record);
  /// Brings the gauges up to date. Call it after a batch of records.
  void Publish();

  static constexpr std::size_t kMaxPerTensor = 1024;

 private:
  struct Gradient {
    const BucketInfo* info = nullptr;  // Null until its first record.
    StageRecord newest;
    float residual_ratio = -1.0f;            // Negative: not measured.
    prometheus::Gauge* density = nullptr;    // Only per tensor.
    prometheus::Gauge* threshold = nullptr;  // Only per tensor.
  };
  void PublishTensor(Gradient& gradient);

  Families& families_;
  const BucketNames& names_;
  const bool per_tensor_;
  std::vector<Gradient> gradients_;  // By number.
  std::size_t tensors_ = 0;          // Tensors with series of their own.
};

}  // namespace weir
