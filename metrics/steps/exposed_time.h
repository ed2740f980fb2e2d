#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/records/record.h"

namespace weir {

struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// Length of the part of `window` that at least one interval covers: overlaps count once.
std::int64_t CoveredNs(std::vector<Interval> intervals, Interval window);

/// Exposed time of a step: exchange of gradients that nothing hid.
struct Exposed {
  std::int64_t communication_ns = 0;
  std::int64_t compression_ns = 0;
};

/// Finds the exposed time of each step. Weir does not see the framework's kernels, but it sees the
/// last gradient arrive: from then until the step ends nothing is left to hide behind. Exposed
/// communication is the part of that tail in which something was negotiated or exchanged; exposed
/// compression, the part in which something was only packed, compressed, merged or unpacked. The
/// two never count a moment twice, and their sum is at most the tail. Not thread-safe.
class ExposedTime {
 public:
  /// Adds a record of a bucket. `compressed` is true if the bucket has a compressor; otherwise its
  /// copies are part of communication.
  void Add(const StageRecord& record, bool compressed);
  /// Takes the record of a step (Stage::kStep), after those of its buckets.
  Exposed EndStep(const StageRecord& step);

 private:
  std::vector<Interval> communication_;
  std::vector<Interval> compression_;
  std::vector<std::int64_t> submissions_;  // Times at which buckets became complete on this rank.
};

}  // namespace weir
