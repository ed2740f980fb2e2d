#include "compression/cpu/threshold.h"

#include <algorithm>
#include <cmath>

#include "compression/dgc_math.h"

namespace weir::cpu {
namespace {

// A single outlier step must not throw the next guess far off.
constexpr float kMaxGrowth = 2.0f;

/// The magnitude of rank 2 k when only `seen.candidates` < 2 k reach the threshold: ranks grow
/// about exponentially as magnitude falls. Bounded, because a slope from few entries is unsure.
float ExtrapolatedRank2k(const ThresholdTracker::Observation& seen) {
  const float distance = seen.kth - seen.threshold;
  const float ratio = static_cast<float>(seen.candidates) / static_cast<float>(seen.k);
  const float steps = std::min(std::log(2.0f) / std::log(std::max(ratio, 1.01f)), 4.0f);
  return std::max(seen.kth - std::max(distance, 0.01f * seen.kth) * steps, 0.5f * seen.kth);
}

/// Mixes a counter into 64 well spread bits (SplitMix64).
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

std::optional<float> ThresholdTracker::Next(std::size_t k) const {
  // Within this much the candidates stay between k and 4 k; a continuous schedule moves k slowly.
  if (4 * k < 3 * k_ || 3 * k > 4 * k_) return std::nullopt;
  return next_;
}

void ThresholdTracker::Observe(const Observation& seen) {
  if (!IsFinite(seen.kth)) return Forget();
  const float guess = seen.candidates >= 2 * seen.k ? seen.rank_2k : ExtrapolatedRank2k(seen);
  float growth = 1.0f;
  if (k_ == seen.k && kth_ > 0.0f) {
    growth = std::clamp(seen.kth / kth_, 1.0f / kMaxGrowth, kMaxGrowth);
  }
  k_ = seen.k;
  kth_ = seen.kth;
  next_ = std::min(guess * growth, MagnitudeOfKey(kInfinityKey - 1));
}

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
