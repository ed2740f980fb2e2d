#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/level_rule.h"

/// Small signed numbers ("levels", -s to s with 1 <= s <= 127) as bytes, in whichever of two forms
/// is shorter: all of them in equally many bits, or the non-zeros alone as (gap, sign, magnitude)
/// in Elias' delta code (P. Elias, "Universal codeword sets", 1975; so QSGD, Alistarh et al. 2017).
/// docs/wire-format.md, "Levels". Pure functions, thread-safe.
namespace weir {

/// Bytes of n levels of at most `s`, in the form that always fits.
std::size_t MaxLevelBytes(std::size_t n, int s);

/// Writes at most MaxLevelBytes and returns how many.
std::size_t EncodeLevels(std::span<const std::int8_t> levels, int s, LevelForm form,
                         std::byte* out);

/// Reads exactly levels.size() levels from exactly the bytes that EncodeLevels writes in this form.
/// Throws Corrupt for bytes that say anything else; `levels` then holds anything.
void DecodeLevels(std::span<const std::byte> bytes, int s, LevelForm form,
                  std::span<std::int8_t> levels);

}  // namespace weir
