#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/threads/thread_pool.h"

namespace weir::cpu {

/// Takes the entries that were sent out of a tensor's residual v and, with momentum factor masking
/// (Lin et al., ICLR 2018, section 3.2), out of its momentum u; and puts them back after an
/// exchange that failed. Not thread-safe. Allocates only when more entries are sent.
class FactorMasking {
 public:
  /// The caller owns u and v, which move by Use alone. `u` is empty where there is no momentum.
  FactorMasking(bool masking, std::span<float> u, std::span<float> v)
      : masks_(masking && !u.empty()), u_(u), v_(v) {}

  void Use(std::span<float> u, std::span<float> v) {
    u_ = u;
    v_ = v;
  }

  /// v -= values at these indices, and with masking u = 0 there. An entry whose value is 0, because
  /// rounding made it so, stays as it is in u: nothing was sent. `indices` must not change until
  /// Undo or Forget. `pool`, if any, shares the work.
  void Settle(std::span<const std::uint32_t> indices, std::span<const float> values,
              ThreadPool* pool);
  /// Puts back what the last Settle changed; no effect if that was done already.
  void Undo();
  /// Makes the last Settle final.
  void Forget();

 private:
  void SettleRange(std::span<const float> values, std::size_t begin, std::size_t end);

  const bool masks_;
  std::span<float> u_;
  std::span<float> v_;
  std::span<const std::uint32_t> indices_;
  std::vector<float> old_u_;  ///< The undo log, beside indices_; empty: there is nothing to undo.
  std::vector<float> old_v_;
};

}  // namespace weir::cpu
