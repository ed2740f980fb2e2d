#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/cpu/radix_select.h"

/// The first threshold of a pass, from samples of what it will find.
namespace weir::cpu {

/// Entries of a tensor to sample for a first threshold: short runs (a cache line each) at
/// pseudo-random places of equal strata, so that no period of the tensor's layout is favoured. A
/// function of n alone: one entry in 128, with a minimum that is still informative and a maximum
/// that a large tensor's pass does not feel.
class SamplePlan {
 public:
  explicit SamplePlan(std::size_t n);
  std::size_t size() const { return size_; }
  /// Position in the tensor of sample j < size().
  std::size_t Index(std::size_t j) const;

 private:
  static constexpr std::size_t kRun = 16;
  static constexpr std::size_t kThinning = 128;
  static constexpr std::size_t kMinSamples = 4096;
  static constexpr std::size_t kMaxSamples = 16384;
  std::size_t n_;
  std::size_t size_;
};

/// A threshold that more than `k` and few more than 2 k of the n entries reach, judging by
/// `samples`; 0 when there are too few samples to tell.
float ThresholdOfSamples(std::span<const float> samples, std::size_t n, std::size_t k,
                         RadixSelect& select);

}  // namespace weir::cpu
