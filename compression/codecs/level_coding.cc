#include "compression/codecs/level_coding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/byte_stream.h"
#include "compression/bit_stream.h"
#include "compression/codecs/level_math.h"
#include "compression/elias_delta.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr auto kPacked = std::byte{0};
constexpr auto kGaps = std::byte{1};
constexpr std::size_t kForm = 1;                       // The first byte.
constexpr std::size_t kCount = sizeof(std::uint32_t);  // Of non-zeros, in the form kGaps.
constexpr std::size_t kGroup = 8;                      // Levels of b bits fill b bytes.

std::size_t PackedBytes(std::size_t n, int s) { return BytesForBits(n * LevelWidth(s)); }

[[noreturn]] void ThrowCorrupt(const std::string& what) { throw Corrupt("levels: " + what); }

void Pack(std::span<const std::int8_t> levels, unsigned width, std::byte* out) {
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  for (std::size_t first = 0; first < levels.size(); first += kGroup) {
    const std::size_t count = std::min(kGroup, levels.size() - first);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto level = static_cast<std::uint64_t>(static_cast<std::int64_t>(levels[first + i]));
      word |= (level & mask) << (i * width);
    }
    std::memcpy(out + first * width / 8, &word, BytesForBits(count * width));
  }
}

void Unpack(std::span<const std::byte> bytes, unsigned width, std::span<std::int8_t> levels) {
  const unsigned unused = 64 - width;
  for (std::size_t first = 0; first < levels.size(); first += kGroup) {
    const std::size_t count = std::min(kGroup, levels.size() - first);
    const std::uint64_t word = LoadWord(bytes, first * width / 8);
    for (std::size_t i = 0; i < count; ++i) {
      const auto shifted = static_cast<std::int64_t>(word << (unused - i * width));
      levels[first + i] = static_cast<std::int8_t>(shifted >> unused);
    }
  }
}

/// Calls use(gap, level) for every level that is not 0; gap is the distance from the one before.
/// Ends when `use` says false.
template <class Use>
void ForEachNonZero(std::span<const std::int8_t> levels, Use use) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  std::size_t next = 0;
  for (std::size_t first = 0; first < levels.size(); first += kGroup) {
    std::uint64_t word = 0;
    std::memcpy(&word, levels.data() + first, std::min(kGroup, levels.size() - first));
    // The top bit of every byte that is not 0.
    for (std::uint64_t marks = (((word & kLow) + kLow) | word) & ~kLow; marks != 0;
         marks &= marks - 1) {
      const std::size_t i = first + static_cast<std::size_t>(std::countr_zero(marks)) / 8;
      if (!use(i + 1 - next, levels[i])) return;
      next = i + 1;
    }
  }
}

std::uint64_t MagnitudeOf(std::int8_t level) {
  return static_cast<std::uint64_t>(std::abs(int{level}));
}

/// What GapBits is at least: as if all non-zeros stood together. Tells in a fraction of its time
/// that dense levels are packed.
std::size_t LeastGapBits(std::span<const std::int8_t> levels) {
  std::array<std::array<std::uint32_t, 256>, 4> counts{};  // Of equal ones none waits for another.
  for (std::size_t i = 0; i < levels.size(); ++i) {
    ++counts[i % 4][static_cast<std::uint8_t>(levels[i])];
  }
  std::size_t bits = 0;
  for (std::size_t byte = 1; byte < 256; ++byte) {
    const std::size_t count =
        std::size_t{counts[0][byte]} + counts[1][byte] + counts[2][byte] + counts[3][byte];
    const auto level = static_cast<std::int8_t>(byte);
    bits +=
        count * (kEliasDelta.CodeOf(1).length + 1 + kEliasDelta.CodeOf(MagnitudeOf(level)).length);
  }
  return bits;
}

/// Bits of the non-zeros with their gaps; stops above `limit`.
std::size_t GapBits(std::span<const std::int8_t> levels, std::size_t limit) {
  std::size_t bits = 0;
  ForEachNonZero(levels, [&](std::size_t gap, std::int8_t level) {
    bits += kEliasDelta.CodeOf(gap).length + 1 + kEliasDelta.CodeOf(MagnitudeOf(level)).length;
    return bits <= limit;
  });
  return bits;
}

void WriteGaps(std::span<const std::int8_t> levels, std::byte* out) {
  BitWriter writer(out + kCount);
  std::uint32_t count = 0;
  ForEachNonZero(levels, [&](std::size_t gap, std::int8_t level) {
    const auto place = kEliasDelta.CodeOf(gap);                // At most 42 bits,
    const auto size = kEliasDelta.CodeOf(MagnitudeOf(level));  // at most 11.
    const std::uint64_t sign = level < 0 ? 1 : 0;
    writer.Append(place.bits | sign << place.length | size.bits << (place.length + 1),
                  place.length + 1 + size.length);
    ++count;
    return true;
  });
  writer.Finish();
  StoreLittleEndian(out, count);
}

void ReadGaps(std::span<const std::byte> bytes, int s, std::span<std::int8_t> levels) {
  if (bytes.size() < kCount) ThrowCorrupt("there is no room for their number");
  const std::size_t count = LoadLittleEndian<std::uint32_t>(bytes.data());
  if (count > levels.size()) {
    ThrowCorrupt(std::to_string(count) + " of " + std::to_string(levels.size()) + " are not 0");
  }
  std::ranges::fill(levels, std::int8_t{0});
  BitReader reader(bytes.subspan(kCount));
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t gap = ReadEliasDelta(reader);
    if (gap == 0 || gap > levels.size() - next) ThrowCorrupt("one lies behind the last entry");
    const bool negative = reader.Take(1) != 0;
    const std::uint64_t magnitude = ReadEliasDelta(reader);
    if (magnitude == 0 || magnitude > static_cast<std::uint64_t>(s)) {
      ThrowCorrupt("one is outside its range");
    }
    next += static_cast<std::size_t>(gap);
    const auto level = static_cast<std::int8_t>(magnitude);
    levels[next - 1] = negative ? static_cast<std::int8_t>(-level) : level;
  }
  if (!reader.AtEnd()) ThrowCorrupt("their length does not fit their number");
}

}  // namespace

std::size_t MaxLevelBytes(std::size_t n, int s) { return kForm + PackedBytes(n, s); }

std::size_t EncodeLevels(std::span<const std::int8_t> levels, int s, LevelForm form,
                         std::byte* out) {
  const std::size_t packed = PackedBytes(levels.size(), s);
  if (form == LevelForm::kShorter && LeastGapBits(levels) < 8 * packed) {
    const std::size_t gaps = kCount + BytesForBits(GapBits(levels, 8 * packed));
    if (gaps < packed) {
      out[0] = kGaps;
      WriteGaps(levels, out + kForm);
      return kForm + gaps;
    }
  }
  out[0] = kPacked;
  Pack(levels, LevelWidth(s), out + kForm);
  return kForm + packed;
}

void DecodeLevels(std::span<const std::byte> bytes, int s, LevelForm form,
                  std::span<std::int8_t> levels) {
  if (bytes.empty()) ThrowCorrupt("there are none");
  const auto rest = bytes.subspan(kForm);
  if (bytes[0] == kGaps && form == LevelForm::kShorter) {
    if (rest.size() >= PackedBytes(levels.size(), s)) ThrowCorrupt("the longer form was sent");
    return ReadGaps(rest, s, levels);
  }
  if (bytes[0] != kPacked) ThrowCorrupt("their form is unknown");
  const unsigned width = LevelWidth(s);
  if (rest.size() != PackedBytes(levels.size(), s)) {
    ThrowCorrupt("length is " + std::to_string(rest.size()) + ", expected " +
                 std::to_string(PackedBytes(levels.size(), s)));
  }
  if (!levels.empty() && !PaddingIsZero(rest, levels.size() * width)) {
    ThrowCorrupt("there is something behind the last one");
  }
  Unpack(rest, width, levels);
  int largest = 0;
  for (const std::int8_t level : levels) largest = std::max(largest, std::abs(int{level}));
  if (largest > s) ThrowCorrupt("one is outside its range");
}

}  // namespace weir
