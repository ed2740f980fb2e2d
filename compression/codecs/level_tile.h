#pragma once

#include <cstddef>
#include <cstdint>

#include "compression/wire/elias_delta.h"
#include "compression/wire/floor_log2.h"

/// Levels in the shorter form, tile by tile (docs/wire-format.md, "Levels"),
/// shared by the CPU and the kernels.
namespace weir {

/// Levels of a tile; the last one of a tensor may have fewer.
inline constexpr std::size_t kLevelTile = 4096;

/// log2 of a tile's parts, whose gaps are counted separately, so that each can be read by itself. A
/// part has 64 to 127 nonzero levels on average; a tile has at most 32 parts.
constexpr unsigned PartsLog2(std::size_t non_zeros) {
  constexpr unsigned kMost = 5;
  const unsigned log = non_zeros < 128 ? 0 : FloorLog2(non_zeros) - 6;
  return log < kMost ? log : kMost;
}
constexpr std::size_t PartLevels(unsigned parts_log2) { return kLevelTile >> parts_log2; }
/// Bytes for the ends of all parts of a tile but the last: 16 bits each.
constexpr std::size_t PartEndBytes(unsigned parts_log2) {
  return ((std::size_t{1} << parts_log2) - 1) * sizeof(std::uint16_t);
}

/// A tile's entry in the table, 16 bits: the low 13 are its bytes.
struct LevelTileEntry {
  static constexpr std::size_t kBytes = sizeof(std::uint16_t);
  static constexpr unsigned kPacked = 7;  ///< In place of the number of parts.

  unsigned bytes = 0;
  unsigned parts_log2 = 0;

  static constexpr LevelTileEntry Of(unsigned word) { return {word & 0x1fffu, word >> 13}; }
  constexpr std::uint16_t word() const {
    return static_cast<std::uint16_t>(bytes | parts_log2 << 13);
  }
  constexpr bool packed() const { return parts_log2 == kPacked; }
};

constexpr std::size_t LevelTiles(std::size_t n) { return (n + kLevelTile - 1) / kLevelTile; }

/// The code of a level that is not 0, at most 31 bits.
template <typename CodeOf>
constexpr EliasDeltaCode CodeOfLevel(std::size_t gap, int level, const CodeOf& code_of) {
  const EliasDeltaCode place = code_of(gap);
  const EliasDeltaCode size = code_of(static_cast<std::uint64_t>(level < 0 ? -level : level));
  const std::uint64_t sign = level < 0 ? 1 : 0;
  return {place.bits | sign << place.length | size.bits << (place.length + 1),
          place.length + 1 + size.length};
}

}  // namespace weir
