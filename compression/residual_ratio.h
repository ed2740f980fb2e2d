#pragma once

#include <cstdint>
#include <span>

namespace weir {

/// How much a compressor keeps back: the L2 norm of `residual` over that of scale * `gradient`, of
/// the same length, from a window of at most kResidualWindow entries that moves on with `turn`. An
/// estimate for monitoring: a moment's work whatever the tensor's size. Negative when the window of
/// the gradient is all zero, or something in it is not finite. Thread-safe.
float ResidualRatio(std::span<const float> residual, std::span<const float> gradient, float scale,
                    std::uint64_t turn);
inline constexpr std::size_t kResidualWindow = 16384;

}  // namespace weir
