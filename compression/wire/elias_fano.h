#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/wire/floor_log2.h"

/// Elias-Fano code of strictly ascending indices (S. Vigna, "Quasi-succinct indices", 2013): the
/// low l = floor(log2(n / k)) bits of every index, packed; then, from the next byte on, the high
/// parts in unary: of k + ((n - 1) >> l) bits, bit (index >> l) + i is set for the i-th index. At
/// most half a bit an index above the entropy; the size depends on n and k alone; one spelling for
/// each set. 1 <= k <= n < 2^32. Pure functions, thread-safe.
namespace weir {

/// Sizes of the code's parts.
struct EliasFanoLayout {
  constexpr EliasFanoLayout(std::size_t n, std::size_t k)
      : low_bits(FloorLog2(n / k)),
        high_bits(k + ((n - 1) >> low_bits)),
        low_bytes((k * low_bits + 7) / 8),
        high_bytes((high_bits + 7) / 8) {}

  unsigned low_bits;      ///< Per index.
  std::size_t high_bits;  ///< In total.
  std::size_t low_bytes;
  std::size_t high_bytes;
};

constexpr std::size_t EliasFanoBytes(std::size_t n, std::size_t k) {
  const EliasFanoLayout layout(n, k);
  return layout.low_bytes + layout.high_bytes;
}

/// Writes EliasFanoBytes(n, indices.size()) bytes.
void EncodeEliasFano(std::size_t n, std::span<const std::uint32_t> indices, std::byte* out);

/// Reads indices.size() indices from exactly EliasFanoBytes bytes. Throws Corrupt unless
/// EncodeEliasFano could have written them, which leaves `indices` undefined.
void DecodeEliasFano(std::size_t n, std::span<const std::byte> bytes,
                     std::span<std::uint32_t> indices);

}  // namespace weir
