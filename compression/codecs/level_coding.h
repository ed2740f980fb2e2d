#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/level_rule.h"

/// Small signed numbers ("levels", -s to s with 1 <= s <= 127) as bytes, in one of two forms: all
/// in equally many bits; or, tile by tile, in whichever is shorter, that or the gaps of
/// level_gaps.h. docs/wire-format.md, "Levels". Pure functions, thread-safe.
namespace weir {

/// Upper bound of the bytes of n levels of at most `s` in this form.
std::size_t MaxLevelBytes(std::size_t n, int s, LevelForm form);

/// Writes at most MaxLevelBytes and returns the number of bytes.
std::size_t EncodeLevels(std::span<const std::int8_t> levels, int s, LevelForm form,
                         std::byte* out);

/// Number of bytes written for n levels, in room for MaxLevelBytes.
std::size_t WrittenLevelBytes(std::span<const std::byte> room, std::size_t n, int s,
                              LevelForm form);

/// Reads exactly levels.size() levels from exactly the bytes that EncodeLevels writes in this
/// form; a tile may be packed though its gaps are shorter. Throws Corrupt for any other bytes,
/// which leaves `levels` undefined.
void DecodeLevels(std::span<const std::byte> bytes, int s, LevelForm form,
                  std::span<std::int8_t> levels);

}  // namespace weir
