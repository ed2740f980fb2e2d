#include "compression/cpu/sampled_threshold.h"

#include <algorithm>
#include <cmath>

#include "compression/dgc/dgc_math.h"

namespace weir::cpu {
namespace {

/// Mixes a counter into 64 well spread bits (SplitMix64).
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

SamplePlan::SamplePlan(std::size_t n)
    : n_(n),
      size_(std::min(n, std::clamp(n / kThinning / kRun * kRun, kMinSamples, kMaxSamples))) {}

std::size_t SamplePlan::Index(std::size_t j) const {
  if (size_ == n_) return j;
  const std::size_t stratum = n_ / (size_ / kRun);
  const std::size_t run = j / kRun;
  const std::size_t start = run * stratum + Mix(run) % (stratum - kRun + 1);
  return start + j % kRun;
}

float ThresholdOfSamples(std::span<const float> samples, std::size_t n, std::size_t k,
                         RadixSelect& select) {
  const double expected =
      static_cast<double>(k) * static_cast<double>(samples.size()) / static_cast<double>(n);
  // Four standard deviations of the count, so that too few candidates are rare; about 2 k at the
  // usual 0.1 % of a large tensor.
  const auto rank = static_cast<std::size_t>(expected + 4.0 * std::sqrt(expected) + 1.0);
  if (rank >= samples.size()) return 0.0f;
  const std::span<const float> all[] = {samples};
  return MagnitudeOfKey(select.Select(all, rank).key);
}

}  // namespace weir::cpu
