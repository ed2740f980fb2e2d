#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/wire/sparse_payload.h"

namespace weir {

/// Some of n entries as a part of a frame (docs/wire-format.md): a sparse part, or a dense one
/// where that is smaller. Values that were rounded to `type`, fp16 or fp32, are not rounded
/// again. Pure functions, thread-safe.

/// Most bytes that any choice of entries takes.
std::size_t MaxEntryPartBytes(std::size_t n, ValueType type);

/// Writes the part and returns its size. `indices` strictly ascending, below n.
std::size_t EncodeEntryPart(std::size_t n, std::span<const std::uint32_t> indices,
                            std::span<const float> values, ValueType type,
                            std::span<std::byte> out);

/// Returns the entries of a part, all n of a dense one; none for an empty payload. Throws Corrupt
/// for a part that EncodeEntryPart cannot have written.
SparseEntries DecodeEntryPart(std::span<const std::byte> payload, std::size_t n, ValueType type);

}  // namespace weir
