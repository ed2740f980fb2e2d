#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "compression/dgc/dgc_math.h"

namespace weir {

/// Returns true if a pass over `n` entries that selects `k` is to collect candidates. With
/// many entries to send, or few in all, every block of the pass would have one; the selection
/// then reads the entries themselves.
constexpr bool CandidatesPay(std::size_t n, std::size_t k) { return n > 4096 && k < n / 16; }

/// Chooses a threshold to start a pass with, so that about 2 k entries reach it. The guess decides
/// the pass's speed, never its result.
///
/// Remembers a threshold from step to step by the rank rule: the magnitude of rank 2 k among a
/// step's candidates, times the growth of the k-th magnitude. A fixed fraction of the k-th
/// magnitude does not work: v is a random walk absorbed at the threshold, and its density rises
/// steeply below. constexpr, for the CPU and for CUDA.
class ThresholdTracker {
 public:
  /// Returns a threshold for selecting `k` entries; nothing when the last k was very different.
  constexpr std::optional<float> Next(std::size_t k) const {
    // Within this much the candidates stay between k and 4 k; a continuous schedule moves k slowly.
    if (4 * k < 3 * k_ || 3 * k > 4 * k_) return std::nullopt;
    return next_;
  }

  /// Results of a pass and its selection.
  struct Observation {
    std::size_t k;
    std::size_t candidates;  ///< Number that reached `threshold`; at least k.
    float threshold;         ///< Threshold at which the pass began.
    float kth;               ///< The k-th largest magnitude.
    float rank_2k;           ///< About the 2 k-th largest; used if there are 2 k candidates.
  };
  constexpr void Observe(const Observation& seen) {
    if (!IsFinite(seen.kth)) return Forget();
    const float guess = seen.candidates >= 2 * seen.k ? seen.rank_2k : ExtrapolatedRank2k(seen);
    float growth = 1.0f;
    if (k_ == seen.k && kth_ > 0.0f) {
      const float most = kMaxGrowth;  // By value, which a GPU needs.
      growth = std::clamp(seen.kth / kth_, 1.0f / most, most);
    }
    k_ = seen.k;
    kth_ = seen.kth;
    next_ = std::min(guess * growth, MagnitudeOfKey(kInfinityKey - 1));
  }

  constexpr void Forget() { k_ = 0; }

 private:
  // A single outlier step must not throw the next guess far off.
  static constexpr float kMaxGrowth = 2.0f;

  /// Estimates the magnitude of rank 2 k when only `seen.candidates` < 2 k reach the threshold:
  /// ranks grow about exponentially as magnitude falls. Bounded: few entries give a poor slope.
  static constexpr float ExtrapolatedRank2k(const Observation& seen) {
    const float distance = seen.kth - seen.threshold;
    const float ratio = static_cast<float>(seen.candidates) / static_cast<float>(seen.k);
    // ln 2 / ln ratio, with ln x near 2 (x - 1) / (x + 1).
    const float slope = 0.3466f * (ratio + 1.0f) / std::max(ratio - 1.0f, 0.01f);
    const float steps = std::min(slope, 4.0f);
    return std::max(seen.kth - std::max(distance, 0.01f * seen.kth) * steps, 0.5f * seen.kth);
  }

  std::size_t k_ = 0;  ///< 0: nothing remembered.
  float kth_ = 0.0f;
  float next_ = 0.0f;
};

}  // namespace weir
