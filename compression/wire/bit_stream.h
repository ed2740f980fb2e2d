#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/byte_stream.h"
#include "common/check.h"

namespace weir {

constexpr std::size_t BytesForBits(std::size_t bits) { return (bits + 7) / 8; }

/// Appends bits, least significant first, 64 at a time. The caller owns the space and guarantees
/// that it suffices. Finish writes the rest, filled with zeros to a whole byte.
class BitWriter {
 public:
  explicit BitWriter(std::byte* out) : out_(out) {}

  /// Requires `bits` < 2^count, count <= 63.
  void Append(std::uint64_t bits, unsigned count) {
    word_ |= bits << used_;
    used_ += count;
    if (used_ < 64) return;
    StoreLittleEndian(out_, word_);
    out_ += sizeof word_;
    used_ -= 64;
    word_ = used_ == 0 ? 0 : bits >> (count - used_);
  }

  void AppendZeros(std::size_t count) {
    for (; count > 63; count -= 63) Append(0, 63);
    Append(0, static_cast<unsigned>(count));
  }

  void Finish() { std::memcpy(out_, &word_, BytesForBits(used_)); }

 private:
  std::byte* out_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;
};

/// Loads the 64-bit word at byte `offset`; bytes past the end read as zero.
inline std::uint64_t LoadWord(std::span<const std::byte> bytes, std::size_t offset) {
  if (offset + sizeof(std::uint64_t) <= bytes.size()) [[likely]] {
    return LoadLittleEndian<std::uint64_t>(bytes.data() + offset);
  }
  std::uint64_t word = 0;
  if (offset < bytes.size()) std::memcpy(&word, bytes.data() + offset, bytes.size() - offset);
  return word;
}

/// True when all bits from `bits` on, up to the end of the bytes, are zero.
inline bool PaddingIsZero(std::span<const std::byte> bytes, std::size_t bits) {
  if (bits % 8 == 0) return true;
  return (std::to_integer<unsigned>(bytes.back()) >> (bits % 8)) == 0;
}

/// Reads the output of a BitWriter. Past the end all bits are zero.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Returns at least 57 bits from here on, without taking them.
  std::uint64_t Peek() const { return LoadWord(bytes_, at_ / 8) >> at_ % 8; }
  void Skip(unsigned count) { at_ += count; }

  /// Takes the next `count` bits, count <= 57.
  std::uint64_t Take(unsigned count) {
    const std::uint64_t bits = Peek() & ((std::uint64_t{1} << count) - 1);
    at_ += count;
    return bits;
  }
  /// Takes zeros and the one after them, and returns the number of zeros; at most
  /// `most`, and then without the one.
  unsigned TakeZeros(unsigned most) {
    const auto zeros = static_cast<unsigned>(std::countr_zero(Peek()));
    at_ += zeros < most ? zeros + 1 : most;
    return zeros < most ? zeros : most;
  }
  std::size_t at() const { return at_; }  ///< Bits before this one.
  /// True if only the last byte's padding, of zeros, is left.
  bool AtEnd() const {
    if (BytesForBits(at_) != bytes_.size()) return false;
    return bytes_.empty() || PaddingIsZero(bytes_, at_);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;  // In bits.
};

/// Counts the ones.
inline std::size_t CountOnes(std::span<const std::byte> bytes) {
  std::size_t count = 0;
  for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(std::uint64_t)) {
    count += static_cast<std::size_t>(std::popcount(LoadWord(bytes, offset)));
  }
  return count;
}

}  // namespace weir
