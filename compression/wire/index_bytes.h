#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "compression/wire/elias_fano.h"

/// Single bytes of coded indices, each computed by itself: a GPU's threads write them side by side,
/// where the CPU writes one after the other (compression/wire/elias_fano.cc, bitmap.cc; the same
/// bytes). constexpr, for CUDA. `indices` ascend strictly.
namespace weir {

/// Returns the first i of `count` for which at(i), which ascends, is not below `value`.
template <typename At>
constexpr std::size_t FirstNotBelow(const At& at, std::size_t count, std::size_t value) {
  std::size_t first = 0;
  while (count > 0) {
    const std::size_t half = count / 2;
    const bool below = at(first + half) < value;
    first = below ? first + half + 1 : first;
    count = below ? count - half - 1 : half;
  }
  return first;
}

/// Byte `at` of marks, one bit at each of the ascending positions that
/// `position` returns for 0 to count - 1.
template <typename Position>
constexpr std::uint8_t ByteOfMarks(const Position& position, std::size_t count, std::size_t at) {
  unsigned byte = 0;
  for (std::size_t i = FirstNotBelow(position, count, at * 8); i < count; ++i) {
    const std::size_t bit = position(i) - at * 8;
    if (bit >= 8) break;
    byte |= 1u << bit;
  }
  return static_cast<std::uint8_t>(byte);
}

/// Byte `at` of the packed low bits.
constexpr std::uint8_t EliasFanoLowByte(const EliasFanoLayout& layout, const std::uint32_t* indices,
                                        std::size_t k, std::size_t at) {
  const unsigned width = layout.low_bits;
  const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
  std::uint64_t byte = 0;
  for (std::size_t i = at * 8 / width; i < k && i * width < at * 8 + 8; ++i) {
    const std::uint64_t low = indices[i] & mask;
    byte |= i * width >= at * 8 ? low << (i * width - at * 8) : low >> (at * 8 - i * width);
  }
  return static_cast<std::uint8_t>(byte);
}

/// Byte `at` of an Elias-Fano code, of EliasFanoBytes(n, k).
constexpr std::uint8_t EliasFanoByte(const EliasFanoLayout& layout, const std::uint32_t* indices,
                                     std::size_t k, std::size_t at) {
  if (at < layout.low_bytes) return EliasFanoLowByte(layout, indices, k, at);
  const auto mark = [&](std::size_t i) { return (indices[i] >> layout.low_bits) + i; };
  return ByteOfMarks(mark, k, at - layout.low_bytes);
}

/// Byte `at` of a bitmap.
constexpr std::uint8_t BitmapByte(const std::uint32_t* indices, std::size_t k, std::size_t at) {
  const auto mark = [&](std::size_t i) { return std::size_t{indices[i]}; };
  return ByteOfMarks(mark, k, at);
}

}  // namespace weir
