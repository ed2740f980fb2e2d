#pragma once

#include <array>
#include <cstdint>

#include "compression/wire/bit_stream.h"
#include "compression/wire/floor_log2.h"

/// Elias' delta code of numbers from 1 (P. Elias, "Universal codeword sets", 1975), least
/// significant bit first. With L the bits of the number and M those of L: M - 1 zeros and a one,
/// the low M - 1 bits of L, the low L - 1 bits of the number. Numbers below 2^32.
namespace weir {

struct EliasDeltaCode {
  std::uint64_t bits = 0;
  unsigned length = 0;
};

constexpr EliasDeltaCode EliasDelta(std::uint64_t number) {
  const unsigned length = FloorLog2(number) + 1;
  const unsigned prefix = FloorLog2(length) + 1;
  const std::uint64_t low_length = length - (1u << (prefix - 1));
  const std::uint64_t low_number = number - (std::uint64_t{1} << (length - 1));
  return {std::uint64_t{1} << (prefix - 1) | low_length << prefix | low_number << (2 * prefix - 1),
          2 * prefix - 1 + length - 1};
}

/// Codes of small numbers, and small numbers of codes: nearly all that occur.
class EliasDeltaTable {
 public:
  static constexpr std::size_t kNumbers = 256;
  static constexpr unsigned kPeek = 8;  // Bits that give the number, where they hold a whole code.

  constexpr EliasDeltaTable() {
    for (std::size_t number = 1; number < kNumbers; ++number) {
      codes_[number] = EliasDelta(number);
      const auto [bits, length] = codes_[number];
      if (length > kPeek) continue;
      for (std::size_t rest = 0; rest < std::size_t{1} << (kPeek - length); ++rest) {
        found_[bits | rest << length] = {number, length};
      }
    }
  }

  constexpr EliasDeltaCode CodeOf(std::uint64_t number) const {
    return number < kNumbers ? codes_[number] : EliasDelta(number);
  }
  /// The number at the beginning of these bits and the length of its code; length 0
  /// when so few bits do not tell it.
  struct Found {
    std::uint64_t number = 0;
    unsigned length = 0;
  };
  constexpr Found Find(std::uint64_t bits) const {
    return found_[bits & ((std::size_t{1} << kPeek) - 1)];
  }

 private:
  std::array<EliasDeltaCode, kNumbers> codes_{};
  std::array<Found, std::size_t{1} << kPeek> found_{};
};

inline constexpr EliasDeltaTable kEliasDelta;

/// Returns 0 for a number of 2^32 or more, or past the end.
inline std::uint64_t ReadEliasDelta(BitReader& reader) {
  if (const auto found = kEliasDelta.Find(reader.Peek()); found.length != 0) {
    reader.Skip(found.length);
    return found.number;
  }
  constexpr unsigned kLongestPrefix = 6;  // For the length 32.
  const unsigned prefix = reader.TakeZeros(kLongestPrefix) + 1;
  if (prefix > kLongestPrefix) return 0;
  const auto length = static_cast<unsigned>((1u << (prefix - 1)) | reader.Take(prefix - 1));
  if (length > 32) return 0;
  return (std::uint64_t{1} << (length - 1)) | reader.Take(length - 1);
}

}  // namespace weir
