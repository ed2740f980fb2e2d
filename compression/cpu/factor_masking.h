#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/threads/thread_pool.h"
#include "compression/dgc/masking.h"

namespace weir::cpu {

/// Takes the entries that were sent out of a tensor's residual v and, by its Masking, out of its
/// momentum u; and puts them back after an exchange that failed. Not thread-safe. Allocates only
/// when more entries are sent.
class FactorMasking {
 public:
  /// The caller owns u and v, which move by Use alone. `u` is empty where there is no momentum.
  FactorMasking(Masking masking, std::span<float> u, std::span<float> v)
      : masking_(u.empty() || KeepsMomentum(masking) ? Masking::kNone : masking), u_(u), v_(v) {}

  void Use(std::span<float> u, std::span<float> v) {
    u_ = u;
    v_ = v;
  }

  /// v = WithTail - values at these indices, and u = MaskedMomentum. An entry whose value is 0,
  /// because rounding made it so, stays as it is: nothing was sent. `tail`: SentTailOf. `indices`
  /// must not change until Undo or Forget. `pool`, if any, shares the work.
  void Settle(std::span<const std::uint32_t> indices, std::span<const float> values, float tail,
              ThreadPool* pool);
  /// Puts back what the last Settle changed; no effect if that was done already.
  void Undo();
  /// Makes the last Settle final.
  void Forget();

 private:
  void SettleRange(std::span<const float> values, float tail, std::size_t begin, std::size_t end);

  const Masking masking_;
  std::span<float> u_;
  std::span<float> v_;
  std::span<const std::uint32_t> indices_;
  std::vector<float> old_u_;  ///< The undo log, beside indices_; empty: there is nothing to undo.
  std::vector<float> old_v_;
};

}  // namespace weir::cpu
