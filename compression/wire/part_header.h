#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "compression/wire/index_coding.h"
#include "compression/wire/value_type.h"

/// The first bytes of sparse and dense parts, the same in both: kind and scale
/// exponent. Pure functions, thread-safe.
namespace weir {

inline constexpr std::size_t kPartHeaderBytes = 2;

/// Throws Corrupt: "part of a frame: <what> is <found>, expected <wanted>".
[[noreturn]] void ThrowFound(const std::string& what, long long found, const std::string& wanted);

constexpr void WritePartHeader(IndexCoding coding, ValueType type, int exponent, std::byte* out) {
  out[0] = static_cast<std::byte>(static_cast<unsigned>(coding) | static_cast<unsigned>(type) << 4);
  out[1] = static_cast<std::byte>(exponent);
}

/// Returns a part's index coding, which may not be an IndexCoding at all. Not for empty parts.
unsigned CodingOf(std::span<const std::byte> part);

/// Returns the scale exponent of a part of at least `least` bytes. Throws Corrupt unless it has
/// those, its values are of this type, and a sender could have written the exponent.
int ReadScaleExponent(std::span<const std::byte> part, std::size_t least, ValueType type);

}  // namespace weir
