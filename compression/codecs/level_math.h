#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "compression/dgc/dgc_math.h"
#include "compression/level_rule.h"

/// Arithmetic of QuantizerCodec on single numbers, written once for the CPU and for kernels.
namespace weir {

/// Values that share a set of blocks of random numbers, and the number of those blocks.
inline constexpr std::size_t kDitherChunk = 64;
inline constexpr std::size_t kDitherBlocks = kDitherChunk / 4;

/// Bits of a packed level: two's complement, without its lowest number.
constexpr unsigned LevelWidth(int s) {
  unsigned bits = 1;
  for (; s > 0; s /= 2) ++bits;
  return bits;
}

/// The scale of n values with this largest magnitude and this sum of squares (unused for kLargest).
/// A scale too large for a float becomes the largest float.
template <typename SquareRoot>
constexpr float LevelScale(const LevelRule& rule, std::size_t n, float largest, double square,
                           const SquareRoot& square_root) {
  if (rule.scale == LevelRule::Scale::kLargest || n == 0) return largest;
  const double most = static_cast<double>(std::numeric_limits<float>::max());
  const bool is_norm = rule.scale == LevelRule::Scale::kNorm;
  const double wanted = is_norm ? square_root(square)
                                : rule.deviations * square_root(square / static_cast<double>(n));
  const auto scale = static_cast<float>(wanted < most ? wanted : most);
  return is_norm || scale < largest ? scale : largest;
}

/// Value of a level.
constexpr float LevelValue(const LevelRule& rule, float scale, int level) {
  const int magnitude = level < 0 ? -level : level;
  if (magnitude == 0) return 0.0f;
  const double fraction =
      rule.spacing == LevelRule::Spacing::kLinear
          ? static_cast<double>(magnitude) / static_cast<double>(rule.levels)
          : std::bit_cast<double>(static_cast<std::uint64_t>(1023 + magnitude - rule.levels) << 52);
  const auto value = static_cast<float>(fraction * static_cast<double>(scale));
  return level < 0 ? -value : value;
}

/// 24 random bits of a word, in [0, 1).
constexpr float DitherUnit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

/// One of the two levels beside value / scale: the upper one if the value is more than `unit` of
/// the way up. Values above the scale, which is not 0, count as the scale.
constexpr int LevelOf(const LevelRule& rule, float scale, float value, float unit) {
  const float part = MagnitudeOfKey(MagnitudeKey(value)) / scale;
  const float y = part < 1.0f ? part : 1.0f;
  int below = 0;
  float rest = 0.0f;
  if (rule.spacing == LevelRule::Spacing::kLinear) {
    const float place = y * static_cast<float>(rule.levels);
    below = static_cast<int>(place);
    rest = place - static_cast<float>(below);
  } else {
    const auto bits = std::bit_cast<std::uint32_t>(y);
    below = static_cast<int>(bits >> 23) + rule.levels - 127;
    if (below <= 0) {  // Towards 2^(1-s).
      below = 0;
      rest = y * std::bit_cast<float>(static_cast<std::uint32_t>(127 + rule.levels - 1) << 23);
    } else {  // The part after the leading bit.
      rest = std::bit_cast<float>((bits & 0x7fffffu) | 0x3f800000u) - 1.0f;
    }
  }
  const int level = below + (unit < rest ? 1 : 0);
  return value < 0.0f ? -level : level;
}

}  // namespace weir
