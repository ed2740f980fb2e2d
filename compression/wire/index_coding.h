#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/wire/bitmap.h"
#include "compression/wire/elias_fano.h"
#include "compression/wire/rice.h"

/// The indices of a sparse part: k of n, strictly ascending, in the shortest of several codes. Pure
/// functions, thread-safe.
namespace weir {

/// The low four bits of a part's first byte.
enum class IndexCoding : std::uint8_t { kNone = 0, kEliasFano = 1, kBitmap = 2, kRice = 3 };

/// Codes that a sender may use: those whose size depends on n and k alone, or also
/// Rice's, where that is shorter.
enum class IndexSize : bool { kFixed, kVariable };

/// The code with IndexSize::kFixed.
constexpr IndexCoding FixedIndexCoding(std::size_t n, std::size_t k) {
  if (k == 0) return IndexCoding::kEliasFano;
  return BitmapBytes(n) < EliasFanoBytes(n, k) ? IndexCoding::kBitmap : IndexCoding::kEliasFano;
}

/// Most bytes that the indices take; the exact number with IndexSize::kFixed.
constexpr std::size_t MaxIndexBytes(std::size_t n, std::size_t k) {
  return k == 0 ? 0 : std::min(BitmapBytes(n), EliasFanoBytes(n, k));
}

/// Coding of one set of indices.
struct IndexPlan {
  IndexCoding coding = IndexCoding::kEliasFano;
  std::size_t bytes = 0;
  RiceCode rice;
};
IndexPlan PlanIndices(std::size_t n, std::span<const std::uint32_t> indices, IndexSize size);

/// Writes plan.bytes bytes.
void EncodeIndices(std::size_t n, std::span<const std::uint32_t> indices, const IndexPlan& plan,
                   std::byte* out);

/// Throws Corrupt unless k indices may be written in this code and in so many bytes. `coding` is
/// the part's own value, which may not be an IndexCoding at all.
void CheckIndexCoding(unsigned coding, std::size_t n, std::size_t k, std::size_t bytes,
                      IndexSize size);

/// Reads indices.size() indices, after CheckIndexCoding. Throws Corrupt unless EncodeIndices could
/// have written the bytes, which leaves `indices` undefined.
void DecodeIndices(IndexCoding coding, std::size_t n, std::span<const std::byte> bytes,
                   std::span<std::uint32_t> indices);

}  // namespace weir
