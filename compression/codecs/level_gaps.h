#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/codecs/level_tile.h"

/// The levels of a tile that are not 0, as (gap, sign, magnitude) in Elias' delta code (P. Elias,
/// "Universal codeword sets", 1975; so QSGD, Alistarh et al. 2017). docs/wire-format.md, "Levels".
/// Pure functions, thread-safe.
namespace weir {

/// Size of what WriteGaps makes of a tile; inexact when it is `limit` bytes or more.
LevelTileEntry MeasureGaps(std::span<const std::int8_t> tile, std::size_t limit);

void WriteGaps(std::span<const std::int8_t> tile, const LevelTileEntry& entry, std::byte* out);

/// Reads all levels of a tile, of at most `s`, from entry.bytes bytes. Throws Corrupt for bytes
/// that WriteGaps does not write, which leaves `tile` undefined.
void ReadGaps(std::span<const std::byte> bytes, const LevelTileEntry& entry, int s,
              std::span<std::int8_t> tile);

}  // namespace weir
