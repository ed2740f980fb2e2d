#include "compression/cpu/candidate_list.h"

#include <algorithm>

#include "common/check.h"
#include "compression/dgc/dgc_math.h"

namespace weir::cpu {
namespace {

// The threshold aims at 2 k candidates; 4 k leave room for its error. The minimum keeps
// compaction of short lists rare.
constexpr std::size_t kFactor = 4;
constexpr std::size_t kFloor = 8192;

}  // namespace

void CandidateList::Reset(std::size_t k, std::size_t range, float threshold) {
  k_ = k;
  threshold_ = threshold;
  size_ = 0;
  const std::size_t wanted = std::min(std::max(kFactor * k, kFloor), range) + kBlock;
  const bool far_too_large = capacity_ / 8 > wanted;  // Left from a denser stage of the warm-up.
  if (wanted <= capacity_ && !far_too_large) return;
  // Left uninitialised: pages that no candidate reaches are never touched.
  indices_ = std::make_unique_for_overwrite<std::uint32_t[]>(wanted);
  values_ = std::make_unique_for_overwrite<float[]>(wanted);
  capacity_ = wanted;
}

void CandidateList::Compact() {
  WEIR_CHECK(size_ > k_);
  const std::span<const float> all[] = {values()};
  const RadixSelect::Result kth = select_.Select(all, k_);
  std::size_t ties = k_ - kth.above;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const std::uint32_t key = MagnitudeKey(values_[i]);
    const bool tie = key == kth.key && ties > 0;
    ties -= tie ? 1 : 0;
    indices_[kept] = indices_[i];
    values_[kept] = values_[i];
    kept += key > kth.key || tie ? 1 : 0;
  }
  size_ = kept;
  // Beyond infinity the keys are NaN patterns, which every compare lets through: slower, not wrong.
  threshold_ = MagnitudeOfKey(kth.key + 1);
}

}  // namespace weir::cpu
