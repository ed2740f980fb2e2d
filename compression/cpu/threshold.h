#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "compression/cpu/radix_select.h"

/// Which threshold to start a pass with, so that about 2 k entries reach it. A guess decides the
/// pass's speed, never its result.
namespace weir::cpu {

/// Whether a pass over `n` entries that selects `k` is to collect candidates. Where many are sent,
/// and among few, every block of the pass would have one, and the selection reads the entries
/// itself.
inline bool CandidatesPay(std::size_t n, std::size_t k) { return n > 4096 && k < n / 16; }

/// Remembers a threshold from step to step by the rank rule: the magnitude of rank 2 k among a
/// step's candidates, times the growth of the k-th magnitude. A fixed fraction of the k-th
/// magnitude will not do: v is a random walk absorbed at the threshold, and its density rises
/// steeply below.
class ThresholdTracker {
 public:
  /// For a pass that selects `k` entries; nothing when what is remembered is of a very different k.
  std::optional<float> Next(std::size_t k) const;

  /// What the pass and its selection found.
  struct Observation {
    std::size_t k;
    std::size_t candidates;  ///< How many entries reached `threshold`; at least k.
    float threshold;         ///< Where the pass began.
    float kth;               ///< The k-th largest magnitude.
    float rank_2k;           ///< About the 2 k-th largest; used if there are 2 k candidates.
  };
  void Observe(const Observation& seen);

  void Forget() { k_ = 0; }

 private:
  std::size_t k_ = 0;  ///< 0: nothing remembered.
  float kth_ = 0.0f;
  float next_ = 0.0f;
};

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
