#pragma once

#include <cstdint>
#include <span>

#include "common/threads/thread_pool.h"
#include "compression/momentum.h"
#include "weir/dtype.h"

namespace weir {

/// A step in which everything leaves a rank: momentum correction (Lin et al., ICLR 2018, section
/// 3.1) with all entries sent, which is momentum SGD.
struct DrainStep {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  float gradient_scale = 1.0f;
  bool v_is_empty = false;  ///< v counts as 0, whatever it holds.
};

/// Advances u by the gradient and adds the direction to v. `u` is as long as `v`, or empty with
/// Momentum::kNone. An entry that is not finite counts as 0, in u and v as in the gradient. Returns
/// the number of these. With kVanilla and v_is_empty the sum is u itself, and v is not touched:
/// 12 bytes an entry instead of 20.
std::uint64_t AdvanceAll(const DrainStep& step, std::span<const float> gradient, std::span<float> u,
                         std::span<float> v, ThreadPool* pool);

/// Leaves what rounding to `type` loses of each value: kFloat16 (CastCodec) or kInt8 (Int8Codec).
void KeepRest(DType type, std::span<float> values);

}  // namespace weir
