#pragma once

#include <cstddef>
#include <cstdint>

#include "compression/random/counter_random.h"

/// Draws of RandomIndices, written once for the CPU and for kernels.
namespace weir {

/// 64 random bits as a number below `limit`; uneven by less than limit / 2^64.
constexpr std::size_t NumberBelow(std::uint64_t bits, std::size_t limit) {
  return static_cast<std::size_t>(static_cast<unsigned __int128>(bits) * limit >> 64);
}

/// The half of generator block i / 2 that draw i takes.
constexpr std::uint64_t BitsOfDraw(const CounterRandom::Block& block, std::size_t i) {
  const std::size_t half = i % 2 * 2;
  return std::uint64_t{block[half + 1]} << 32 | block[half];
}

/// Draw i of k out of n: a number up to n - k + i, which is taken if draw i finds this one taken.
constexpr std::size_t LastOfDraw(std::size_t n, std::size_t k, std::size_t i) { return n - k + i; }

}  // namespace weir
