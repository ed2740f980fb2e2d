#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/half.h"

/// State kept as bf16 (option state_dtype), written once for the CPU and for kernels. Rounding is
/// random, up with a probability that grows with the distance from the lower number. A step often
/// adds less than half of a bf16's last bit, and rounding to the nearest would drop it in every
/// step. Pure functions, thread-safe.
namespace weir {

/// Spreads a difference in a few bits over all of them (C. Wellons, "hash-prospector", lowbias32).
constexpr std::uint32_t SpreadBits(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

/// Key of a step's roundings of one tensor.
constexpr std::uint32_t RoundingKey(std::uint32_t seed, std::int64_t step, int rank) {
  const auto bits = static_cast<std::uint64_t>(step);
  std::uint32_t key = SpreadBits(seed ^ static_cast<std::uint32_t>(bits));
  key = SpreadBits(key ^ static_cast<std::uint32_t>(bits >> 32));
  return SpreadBits(key ^ static_cast<std::uint32_t>(rank));
}

/// The random bits of entry i: the lower 16 for u, the upper 16 for v.
constexpr std::uint32_t RoundingBits(std::uint32_t key, std::uint32_t i) {
  return SpreadBits(key ^ i * 0x9E3779B9u);
}
constexpr std::uint32_t BitsForMomentum(std::uint32_t bits) { return bits & 0xffffu; }
constexpr std::uint32_t BitsForVelocity(std::uint32_t bits) { return bits >> 16; }

/// `bits`: 16 random ones. A value that a bf16 can hold is kept; a finite number stays finite.
constexpr std::uint16_t RoundedAtRandom(float value, std::uint32_t bits) {
  const auto exact = std::bit_cast<std::uint32_t>(value);
  const auto inwards = static_cast<std::uint16_t>(exact >> 16);
  const auto rounded = static_cast<std::uint16_t>((exact + bits) >> 16);
  constexpr std::uint32_t kExponent = 0x7f80;
  if ((inwards & kExponent) == kExponent) return FloatToBFloat16(value);
  return (rounded & kExponent) == kExponent ? inwards : rounded;
}

}  // namespace weir
