#include "compression/cpu/factor_masking.h"

#include <algorithm>

namespace weir::cpu {
namespace {

// Smaller ranges cost more to hand out than they gain. More ranges than threads even out what other
// programs take from a core.
constexpr std::size_t kMinRange = std::size_t{1} << 12;
constexpr std::size_t kRangesPerThread = 4;

// The entries of a large tensor lie on as many cache lines, all of them cold. Prefetching this far
// ahead saves a quarter of the time.
constexpr std::size_t kPrefetchDistance = 32;

}  // namespace

void FactorMasking::Settle(std::span<const std::uint32_t> indices, std::span<const float> values,
                           float tail, ThreadPool* pool) {
  const std::size_t count = indices.size();
  indices_ = indices;
  old_v_.resize(count);
  old_u_.resize(masking_ == Masking::kNone ? 0 : count);
  if (pool == nullptr) return SettleRange(values, tail, 0, count);
  const std::size_t ranges = std::clamp<std::size_t>(
      count / kMinRange, 1, static_cast<std::size_t>(pool->threads()) * kRangesPerThread);
  pool->ParallelFor(static_cast<int>(ranges), [&](int range) {
    const auto r = static_cast<std::size_t>(range);
    SettleRange(values, tail, count * r / ranges, count * (r + 1) / ranges);
  });
}

void FactorMasking::SettleRange(std::span<const float> values, float tail, std::size_t begin,
                                std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t ahead = indices_[std::min(i + kPrefetchDistance, end - 1)];
    __builtin_prefetch(&v_[ahead], 1);
    const std::uint32_t index = indices_[i];
    const float v = old_v_[i] = v_[index];
    if (masking_ == Masking::kNone) {
      v_[index] = v - values[i];
      continue;
    }
    __builtin_prefetch(&u_[ahead], 1);
    const float u = old_u_[i] = u_[index];
    const float sent = WithTail(tail, u, v);
    if (values[i] == 0.0f && sent != 0.0f) continue;  // It vanished.
    v_[index] = sent - values[i];
    u_[index] = MaskedMomentum(masking_, u, v);
  }
}

void FactorMasking::Undo() {
  for (std::size_t i = 0; i < old_v_.size(); ++i) v_[indices_[i]] = old_v_[i];
  for (std::size_t i = 0; i < old_u_.size(); ++i) u_[indices_[i]] = old_u_[i];
  Forget();
}

void FactorMasking::Forget() {
  old_v_.clear();
  old_u_.clear();
}

}  // namespace weir::cpu
