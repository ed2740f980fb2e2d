#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Rice code of strictly ascending indices (R. F. Rice, "Some practical universal noiseless coding
/// techniques", 1979), by the gaps between them: the low r bits of each gap, and the rest in unary.
/// Random indices take half a bit an index less than with Elias-Fano, clustered ones still less;
/// the size depends on the indices. One spelling for each set. At least one index, all below 2^32 -
/// 1. Pure functions, thread-safe.
///
/// A byte r; the low r bits of every gap, packed; then, from the next byte on, for every gap g, g
/// >> r zeros and a one. The gap is the number of indices left out before this one.
namespace weir {

struct RiceCode {
  unsigned parameter = 0;  ///< r.
  std::size_t bytes = 0;   ///< Size of the whole code.
};

/// Chooses the parameter that takes the fewest bits; the smallest of several.
RiceCode BestRiceCode(std::span<const std::uint32_t> indices);

/// Writes code.bytes bytes.
void EncodeRice(std::span<const std::uint32_t> indices, const RiceCode& code, std::byte* out);

/// Reads indices.size() indices below n from exactly these bytes. Throws Corrupt unless EncodeRice
/// could have written them with the best parameter, which leaves `indices` undefined.
void DecodeRice(std::size_t n, std::span<const std::byte> bytes, std::span<std::uint32_t> indices);

}  // namespace weir
