#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Strictly ascending indices as one bit an element: smaller than Elias-Fano above a density of
/// about a quarter. Pure functions, thread-safe.
namespace weir {

constexpr std::size_t BitmapBytes(std::size_t n) { return (n + 7) / 8; }

/// Writes BitmapBytes(n) bytes.
void EncodeBitmap(std::size_t n, std::span<const std::uint32_t> indices, std::byte* out);

/// Reads indices.size() indices from exactly BitmapBytes(n) bytes. Throws Corrupt unless
/// EncodeBitmap could have written them, which leaves `indices` undefined.
void DecodeBitmap(std::size_t n, std::span<const std::byte> bytes,
                  std::span<std::uint32_t> indices);

}  // namespace weir
