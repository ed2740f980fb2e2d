#pragma once

#include <cstdint>
#include <initializer_list>

namespace byte_lm {

/// Returns a random number that is a pure function of its key, so that a rank's draw at a
/// step depends neither on earlier draws nor on other ranks. The key is folded word by word
/// through the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014).
inline std::uint64_t RandomBits(std::initializer_list<std::uint64_t> key) {
  std::uint64_t state = 0;
  for (const std::uint64_t word : key) {
    state = (state ^ word) + 0x9e3779b97f4a7c15u;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    state ^= state >> 31;
  }
  return state;
}

/// Uniform in [0, 1), a multiple of 2^-24.
inline float RandomUnit(std::initializer_list<std::uint64_t> key) {
  return static_cast<float>(RandomBits(key) >> 40) * 0x1p-24f;
}

}  // namespace byte_lm
