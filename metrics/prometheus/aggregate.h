#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "metrics/prometheus/families.h"
#include "metrics/prometheus/gradient_gauges.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/record.h"
#include "metrics/steps/step_summary.h"

namespace weir {

/// Turns records into the metrics of `Families`. Uses only records and the names of buckets. Not
/// thread-safe; the registry is, so it may be scraped at any time.
class Aggregate {
 public:
  /// `per_tensor` as in GradientGauges.
  Aggregate(prometheus::Registry& registry, const BucketNames& names, bool per_tensor);

  /// Adds a record of a bucket or a gradient; others count nothing here.
  void Add(const StageRecord& record);
  void Add(const StepSummary& step);
  /// Adds the number of records that were overwritten before they could be read.
  void AddLost(std::uint64_t count);
  /// Brings the gauges up to date. Call it after a batch of records.
  void Publish() { gradients_.Publish(); }

 private:
  /// A bucket and its series, looked up once, because a look-up by labels takes microseconds.
  struct BucketSeries {
    const BucketInfo* info = nullptr;  // Null until its first record.
    std::array<prometheus::Histogram*, kBucketStageCount> durations{};
    struct Collectives {
      prometheus::Counter* count = nullptr;
      prometheus::Histogram* duration = nullptr;
    };
    std::vector<std::array<Collectives, 2>> collectives;  // By route and StageRecord::ok.
    prometheus::Counter* payload_bytes = nullptr;
    prometheus::Counter* dense_equivalent_bytes = nullptr;
    std::int64_t reached_ns = 0;  // End of the run's stages so far; 0: unknown.
  };

  BucketSeries& SeriesOf(std::uint32_t bucket);
  void AddWait(const StageRecord& record, BucketSeries& series);
  void AddDuration(const StageRecord& record, BucketSeries& series);
  void AddExchange(const StageRecord& record, BucketSeries& series);
  void AddBytes(std::uint64_t payload, std::uint64_t dense, BucketSeries& series);

  const BucketNames& names_;
  Families families_;
  GradientGauges gradients_;
  std::array<prometheus::Histogram*, kBucketStageCount> queue_waits_{};
  std::vector<BucketSeries> series_;  // By bucket.
};

}  // namespace weir
