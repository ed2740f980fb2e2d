#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Rice code of strictly ascending indices (R. F. Rice, "Some practical universal noiseless coding
/// techniques", 1979), by the gaps between them: of each, the low r bits, and the rest in unary.
/// Of indices that lie at random it takes half a bit an index less than Elias-Fano, and less still
/// of those that cluster; but how much depends on the indices. One spelling for each set. At least
/// one index, all below 2^32 - 1. Pure functions, thread-safe.
///
/// A byte r; the low r bits of every gap, packed; then, from the next byte on, for every gap g,
/// g >> r zeros and a one. The gap is how many indices are left out before this one.
namespace weir {

struct RiceCode {
  unsigned parameter = 0;  ///< r.
  std::size_t bytes = 0;   ///< Of the whole code.
};

/// With the parameter that takes the fewest bits, the least of several.
RiceCode BestRiceCode(std::span<const std::uint32_t> indices);

/// Writes code.bytes bytes.
void EncodeRice(std::span<const std::uint32_t> indices, const RiceCode& code, std::byte* out);

/// Reads indices.size() indices below n from exactly these bytes. Throws Corrupt unless EncodeRice
/// could have written them with the best parameter; `indices` then holds anything.
void DecodeRice(std::size_t n, std::span<const std::byte> bytes, std::span<std::uint32_t> indices);

}  // namespace weir
