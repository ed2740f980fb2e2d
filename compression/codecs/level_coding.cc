#include "compression/codecs/level_coding.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/byte_stream.h"
#include "common/check.h"
#include "compression/codecs/level_gaps.h"
#include "compression/codecs/level_math.h"
#include "compression/codecs/level_tile.h"
#include "compression/wire/bit_stream.h"
#include "weir/error.h"

namespace weir {
namespace {

using Entry = LevelTileEntry;

constexpr std::size_t kForm = 1;   // The first byte.
constexpr std::size_t kGroup = 8;  // Levels of b bits fill b bytes.

std::byte ByteOf(LevelForm form) {
  return form == LevelForm::kPacked ? std::byte{0} : std::byte{1};
}

std::size_t PackedBytes(std::size_t n, int s) { return BytesForBits(n * LevelWidth(s)); }

[[noreturn]] void ThrowCorrupt(const std::string& what) { throw Corrupt("levels: " + what); }

/// Calls use(t, levels) for each tile.
template <class Levels, class Use>
void ForEachTile(Levels levels, const Use& use) {
  for (std::size_t t = 0; t < LevelTiles(levels.size()); ++t) {
    const std::size_t first = t * kLevelTile;
    use(t, levels.subspan(first, std::min(kLevelTile, levels.size() - first)));
  }
}

std::size_t HeadBytes(std::size_t n) { return kForm + LevelTiles(n) * Entry::kBytes; }
Entry EntryAt(std::span<const std::byte> bytes, std::size_t tile) {
  const std::byte* const at = bytes.data() + kForm + tile * Entry::kBytes;
  return Entry::Of(LoadLittleEndian<std::uint16_t>(at));
}

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

/// Reads from exactly PackedBytes.
void Unpack(std::span<const std::byte> bytes, int s, std::span<std::int8_t> levels) {
  const unsigned width = LevelWidth(s);
  if (!levels.empty() && !PaddingIsZero(bytes, levels.size() * width)) {
    ThrowCorrupt("there are bytes after the last one");
  }
  const unsigned unused = 64 - width;
  for (std::size_t first = 0; first < levels.size(); first += kGroup) {
    const std::size_t count = std::min(kGroup, levels.size() - first);
    const std::uint64_t word = LoadWord(bytes, first * width / 8);
    for (std::size_t i = 0; i < count; ++i) {
      const auto shifted = static_cast<std::int64_t>(word << (unused - i * width));
      levels[first + i] = static_cast<std::int8_t>(shifted >> unused);
    }
  }
  int largest = 0;
  for (const std::int8_t level : levels) largest = std::max(largest, std::abs(int{level}));
  if (largest > s) ThrowCorrupt("one is outside its range");
}

/// Writes a tile in the shorter way.
Entry WriteTile(std::span<const std::int8_t> tile, int s, std::byte* out) {
  const std::size_t packed = PackedBytes(tile.size(), s);
  const Entry gaps = MeasureGaps(tile, packed);
  if (gaps.bytes < packed) {
    WriteGaps(tile, gaps, out);
    return gaps;
  }
  Pack(tile, LevelWidth(s), out);
  return {.bytes = static_cast<unsigned>(packed), .parts_log2 = Entry::kPacked};
}

void ReadTile(std::span<const std::byte> bytes, const Entry& entry, int s,
              std::span<std::int8_t> tile) {
  const std::size_t packed = PackedBytes(tile.size(), s);
  if (entry.packed()) {
    if (entry.bytes != packed) {
      ThrowCorrupt("a packed tile has " + std::to_string(entry.bytes) + " bytes, expected " +
                   std::to_string(packed));
    }
    return Unpack(bytes, s, tile);
  }
  if (entry.bytes >= packed) ThrowCorrupt("the longer way was taken");
  ReadGaps(bytes, entry, s, tile);
}

void ExpectBytes(std::size_t found, std::size_t expected) {
  if (found == expected) return;
  ThrowCorrupt("length is " + std::to_string(found) + ", expected " + std::to_string(expected));
}

}  // namespace

std::size_t MaxLevelBytes(std::size_t n, int s, LevelForm form) {
  return (form == LevelForm::kPacked ? kForm : HeadBytes(n)) + PackedBytes(n, s);
}

std::size_t EncodeLevels(std::span<const std::int8_t> levels, int s, LevelForm form,
                         std::byte* out) {
  out[0] = ByteOf(form);
  if (form == LevelForm::kPacked) {
    Pack(levels, LevelWidth(s), out + kForm);
    return kForm + PackedBytes(levels.size(), s);
  }
  std::size_t at = HeadBytes(levels.size());
  ForEachTile(levels, [&](std::size_t t, std::span<const std::int8_t> tile) {
    const Entry entry = WriteTile(tile, s, out + at);
    StoreLittleEndian(out + kForm + t * Entry::kBytes, entry.word());
    at += entry.bytes;
  });
  return at;
}

std::size_t WrittenLevelBytes(std::span<const std::byte> room, std::size_t n, int s,
                              LevelForm form) {
  WEIR_CHECK(room.size() == MaxLevelBytes(n, s, form));
  if (form == LevelForm::kPacked) return room.size();
  std::size_t bytes = HeadBytes(n);
  for (std::size_t t = 0; t < LevelTiles(n); ++t) bytes += EntryAt(room, t).bytes;
  return bytes;
}

void DecodeLevels(std::span<const std::byte> bytes, int s, LevelForm form,
                  std::span<std::int8_t> levels) {
  if (bytes.empty()) ThrowCorrupt("there are none");
  if (bytes[0] != ByteOf(form)) ThrowCorrupt("their form is not the sender's");
  const std::size_t n = levels.size();
  if (form == LevelForm::kPacked) {
    ExpectBytes(bytes.size(), MaxLevelBytes(n, s, form));
    return Unpack(bytes.subspan(kForm), s, levels);
  }
  std::size_t at = HeadBytes(n);
  if (bytes.size() < at) ThrowCorrupt("there is no room for the table of their tiles");
  ForEachTile(levels, [&](std::size_t t, std::span<std::int8_t> tile) {
    const Entry entry = EntryAt(bytes, t);
    if (entry.bytes > bytes.size() - at) ThrowCorrupt("a tile ends past their end");
    ReadTile(bytes.subspan(at, entry.bytes), entry, s, tile);
    at += entry.bytes;
  });
  ExpectBytes(bytes.size(), at);
}

}  // namespace weir
