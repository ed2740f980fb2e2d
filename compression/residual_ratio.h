#pragma once

#include <cstdint>
#include <span>

namespace weir {

/// Share that a compressor keeps back: the L2 norm of `residual` over that of scale * `gradient`,
/// of the same length, in a window of at most kResidualWindow entries that moves on with `turn`. An
/// estimate for monitoring; its time does not grow with the tensor. Negative when the window of the
/// gradient is all zero, or something in it is not finite. Thread-safe.
float ResidualRatio(std::span<const float> residual, std::span<const float> gradient, float scale,
                    std::uint64_t turn);
inline constexpr std::size_t kResidualWindow = 16384;

}  // namespace weir
