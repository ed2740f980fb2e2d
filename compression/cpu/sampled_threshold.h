#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/cpu/radix_select.h"

/// A first threshold of a pass, from samples of what it will find.
namespace weir::cpu {

/// Which entries of a tensor to look at for a first threshold: short runs (a cache line each) at
/// pseudo-random places of equal strata, so that no period of the tensor's layout is favoured. A
/// function of n alone: one entry in 128, but not so few that they tell nothing, nor so many that a
/// large tensor's pass would feel it.
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

/// A threshold that, judging by `samples` of the n entries, more than `k` and few more than 2 k
/// entries reach; 0 when there are too few samples to tell.
float ThresholdOfSamples(std::span<const float> samples, std::size_t n, std::size_t k,
                         RadixSelect& select);

}  // namespace weir::cpu
