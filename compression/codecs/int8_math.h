#pragma once

#include <cstdint>
#include <limits>

/// Arithmetic of Int8Codec on single numbers, written once for the CPU and for kernels.
namespace weir {

inline constexpr int kLargestInt8 = 127;

/// Distance of two levels, where the largest magnitude is `largest`. At least the smallest
/// subnormal number, so that it does not vanish.
constexpr float Int8Step(float largest) {
  if (largest == 0.0f) return 0.0f;
  const float step = largest / static_cast<float>(kLargestInt8);
  const float least = std::numeric_limits<float>::denorm_min();
  return step < least ? least : step;
}

/// The nearest level, ties to even.
constexpr std::int8_t Int8Level(float value, float step) {
  if (step == 0.0f) return 0;
  constexpr float kNoFraction = 0x1.8p23f;  // Between 2^23 and 2^24 all numbers are whole.
  const float level = (value / step + kNoFraction) - kNoFraction;
  constexpr float kLimit = kLargestInt8;
  const float above = level < -kLimit ? -kLimit : level;
  return static_cast<std::int8_t>(above > kLimit ? kLimit : above);
}

/// level * step, which may round to infinity for the largest floats.
constexpr float Int8Value(std::int8_t level, float step) {
  const float limit = std::numeric_limits<float>::max();
  const float value = static_cast<float>(level) * step;
  const float above = value < -limit ? -limit : value;
  return above > limit ? limit : above;
}

}  // namespace weir
