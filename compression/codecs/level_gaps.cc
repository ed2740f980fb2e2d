#include "compression/codecs/level_gaps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "common/byte_stream.h"
#include "compression/level_rule.h"
#include "compression/wire/bit_stream.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr auto kCodeOf = [](std::uint64_t number) { return kEliasDelta.CodeOf(number); };

/// Calls use(p, levels) for each of a tile's parts.
template <class Levels, class Use>
void ForEachPart(Levels tile, unsigned parts_log2, const Use& use) {
  const std::size_t size = PartLevels(parts_log2);
  for (std::size_t p = 0; p < std::size_t{1} << parts_log2; ++p) {
    const std::size_t first = std::min(p * size, tile.size());
    use(p, tile.subspan(first, std::min(size, tile.size() - first)));
  }
}

/// Calls use(gap, level) for every level that is not 0; gap is the distance from the one before.
/// Ends when `use` returns false.
template <class Use>
void ForEachNonZero(std::span<const std::int8_t> levels, const Use& use) {
  constexpr std::size_t kLevelsAtOnce = 8;
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  std::size_t next = 0;
  for (std::size_t first = 0; first < levels.size(); first += kLevelsAtOnce) {
    std::uint64_t word = 0;
    std::memcpy(&word, levels.data() + first, std::min(kLevelsAtOnce, levels.size() - first));
    // The top bit of every byte that is not 0.
    for (std::uint64_t marks = (((word & kLow) + kLow) | word) & ~kLow; marks != 0;
         marks &= marks - 1) {
      const std::size_t i = first + static_cast<std::size_t>(std::countr_zero(marks)) / 8;
      if (!use(i + 1 - next, levels[i])) return;
      next = i + 1;
    }
  }
}

/// Bits of a level that follows the one before directly, by its byte.
constexpr auto kLeastBits = [] {
  std::array<std::uint8_t, 256> bits{};
  for (int level = -kMostLevels; level <= kMostLevels; ++level) {
    const auto code = CodeOfLevel(1, level, EliasDelta);
    if (level != 0) bits[static_cast<std::uint8_t>(level)] = static_cast<std::uint8_t>(code.length);
  }
  return bits;
}();

/// Number of levels that are not 0, and a lower bound of their bits. Shows in a fraction of the
/// exact count's time that dense levels are packed.
struct Least {
  std::size_t non_zeros = 0;
  std::size_t bits = 0;
};
Least LeastOf(std::span<const std::int8_t> tile) {
  std::array<std::array<std::uint16_t, 256>, 4> counts{};  // Four: equal bytes need not wait.
  for (std::size_t i = 0; i < tile.size(); ++i) {
    ++counts[i % 4][static_cast<std::uint8_t>(tile[i])];
  }
  Least least{.non_zeros = tile.size()};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::size_t count =
        std::size_t{counts[0][byte]} + counts[1][byte] + counts[2][byte] + counts[3][byte];
    least.bits += count * kLeastBits[byte];
    if (byte == 0) least.non_zeros -= count;
  }
  return least;
}

[[noreturn]] void ThrowCorrupt(const char* what) { throw Corrupt(std::string("levels: ") + what); }

}  // namespace

LevelTileEntry MeasureGaps(std::span<const std::int8_t> tile, std::size_t limit) {
  const Least least = LeastOf(tile);
  LevelTileEntry entry{.parts_log2 = PartsLog2(least.non_zeros)};
  const std::size_t head = PartEndBytes(entry.parts_log2);
  std::size_t bits = least.bits;
  if (head + BytesForBits(bits) < limit) {
    bits = 0;
    ForEachPart(tile, entry.parts_log2, [&](std::size_t, std::span<const std::int8_t> part) {
      ForEachNonZero(part, [&](std::size_t gap, int level) {
        bits += CodeOfLevel(gap, level, kCodeOf).length;
        return head + BytesForBits(bits) < limit;
      });
    });
  }
  entry.bytes = static_cast<unsigned>(head + BytesForBits(bits));
  return entry;
}

void WriteGaps(std::span<const std::int8_t> tile, const LevelTileEntry& entry, std::byte* out) {
  BitWriter writer(out + PartEndBytes(entry.parts_log2));
  std::uint16_t end = 0;
  ForEachPart(tile, entry.parts_log2, [&](std::size_t p, std::span<const std::int8_t> part) {
    ForEachNonZero(part, [&](std::size_t gap, int level) {
      const auto [bits, length] = CodeOfLevel(gap, level, kCodeOf);
      writer.Append(bits, length);
      end += static_cast<std::uint16_t>(length);
      return true;
    });
    if ((p + 1) >> entry.parts_log2 == 0) StoreLittleEndian(out + p * sizeof end, end);
  });
  writer.Finish();
}

void ReadGaps(std::span<const std::byte> bytes, const LevelTileEntry& entry, int s,
              std::span<std::int8_t> tile) {
  const std::size_t head = PartEndBytes(entry.parts_log2);
  if (bytes.size() < head) ThrowCorrupt("there is no room for the parts of a tile");
  std::ranges::fill(tile, std::int8_t{0});
  BitReader reader(bytes.subspan(head));
  std::size_t non_zeros = 0;
  ForEachPart(tile, entry.parts_log2, [&](std::size_t p, std::span<std::int8_t> part) {
    const bool last = (p + 1) >> entry.parts_log2 != 0;
    const std::size_t end =
        last ? 0 : LoadLittleEndian<std::uint16_t>(bytes.data() + p * sizeof(std::uint16_t));
    std::size_t next = 0;
    while (last ? !reader.AtEnd() : reader.at() < end) {
      const std::uint64_t gap = ReadEliasDelta(reader);
      if (gap == 0 || gap > part.size() - next) ThrowCorrupt("one lies after the last entry");
      const bool negative = reader.Take(1) != 0;
      const std::uint64_t magnitude = ReadEliasDelta(reader);
      if (magnitude == 0 || magnitude > static_cast<std::uint64_t>(s)) {
        ThrowCorrupt("one is outside its range");
      }
      next += static_cast<std::size_t>(gap);
      const auto level = static_cast<std::int8_t>(magnitude);
      part[next - 1] = negative ? static_cast<std::int8_t>(-level) : level;
      ++non_zeros;
    }
    if (!last && reader.at() != end) ThrowCorrupt("a part of a tile does not end where it says");
  });
  if (PartsLog2(non_zeros) != entry.parts_log2) {
    ThrowCorrupt("the number of a tile's parts does not fit its levels");
  }
}

}  // namespace weir
