#pragma once

#include <bit>
#include <cstdint>

#include "compression/bit_stream.h"

/// Elias' delta code of numbers from 1 (P. Elias, "Universal codeword sets", 1975), least
/// significant bit first: with L the bits of the number and M those of L, M - 1 zeros and a one,
/// the low M - 1 bits of L, the low L - 1 bits of the number.
namespace weir {

inline std::size_t EliasDeltaBits(std::uint64_t number) {
  const auto length = static_cast<std::uint64_t>(std::bit_width(number));
  const auto prefix = static_cast<std::size_t>(std::bit_width(length));
  return 2 * prefix - 1 + static_cast<std::size_t>(length) - 1;
}

/// 1 <= number < 2^32.
inline void AppendEliasDelta(BitWriter& writer, std::uint64_t number) {
  const auto length = static_cast<unsigned>(std::bit_width(number));
  const auto prefix = static_cast<unsigned>(std::bit_width(length));
  writer.Append(std::uint64_t{1} << (prefix - 1), prefix);
  writer.Append(length - (1u << (prefix - 1)), prefix - 1);
  writer.Append(number - (std::uint64_t{1} << (length - 1)), length - 1);
}

/// 0 for what is no number below 2^32, or past the end.
inline std::uint64_t ReadEliasDelta(BitReader& reader) {
  constexpr unsigned kLongestPrefix = 6;  // Of the length 32.
  const unsigned prefix = reader.TakeZeros(kLongestPrefix) + 1;
  if (prefix > kLongestPrefix) return 0;
  const auto length = static_cast<unsigned>((1u << (prefix - 1)) | reader.Take(prefix - 1));
  if (length > 32) return 0;
  return (std::uint64_t{1} << (length - 1)) | reader.Take(length - 1);
}

}  // namespace weir
