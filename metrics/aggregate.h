#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "metrics/bucket_names.h"
#include "metrics/exposed_time.h"
#include "metrics/families.h"
#include "metrics/record.h"

namespace weir {

/// Turns records into the metrics of `Families`. Everything it knows comes from records and the
/// names of buckets. Not thread-safe; the registry is, so it may be scraped at any time.
class Aggregate {
 public:
  /// `per_tensor` adds series for each of the first kMaxPerTensor buckets.
  Aggregate(prometheus::Registry& registry, const BucketNames& names, bool per_tensor);

  void Add(const StageRecord& record);
  /// Records that were overwritten before they could be read.
  void AddLost(std::uint64_t count);
  /// Brings the gauges up to date; to be called after a batch of records.
  void Publish();

  static constexpr std::uint32_t kMaxPerTensor = 1024;

 private:
  /// A bucket and where its records go; looked up once, as a look-up by labels costs microseconds.
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
    prometheus::Gauge* density = nullptr;    // Only per tensor.
    prometheus::Gauge* threshold = nullptr;  // Only per tensor.

    std::int64_t reached_ns = 0;  // End of the run's stages so far; 0: unknown.
    StageRecord compress;         // The newest; bytes_in is 0 before the first.
  };

  BucketSeries& SeriesOf(std::uint32_t bucket);
  void AddStep(const StageRecord& record);
  void AddWait(const StageRecord& record, BucketSeries& series);
  void AddDuration(const StageRecord& record, BucketSeries& series);
  void AddExchange(const StageRecord& record, BucketSeries& series);
  void AddBytes(std::uint64_t payload, std::uint64_t dense, BucketSeries& series);
  void PublishBucket(std::uint32_t bucket, BucketSeries& series);

  const BucketNames& names_;
  const bool per_tensor_;
  Families families_;
  std::array<prometheus::Histogram*, kBucketStageCount> queue_waits_{};
  std::vector<BucketSeries> series_;  // By bucket.
  ExposedTime exposed_time_;
  std::int64_t last_step_ = -1;
  std::int64_t last_step_end_ns_ = 0;
};

}  // namespace weir
