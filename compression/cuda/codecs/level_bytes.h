#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/codecs/level_math.h"
#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/launch.h"

/// The bytes of a tile's levels, between a payload and the shared memory of a block
/// (compression/codecs/level_coding.h).
namespace weir::cuda {

inline constexpr std::size_t kLevelHeader = sizeof(float) + 1;  // The scale, and the form.
inline constexpr unsigned kLevelGroup = 8;                      // Levels of b bits fill b bytes.
inline constexpr unsigned kTileGroups = kCodecTile / kLevelGroup;

/// Offset of a tile's first byte in a word of 4 bytes.
__device__ inline unsigned LevelShift(const std::byte* tile) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(tile) % 4);
}

/// Bytes of a tile, in words as in the GPU's memory, with a word to spare.
struct LevelBytes {
  static constexpr std::size_t kMost = std::size_t{kTileGroups} * 8 + 8;
  std::uint32_t words[kMost / 4];

  __device__ std::byte* bytes() { return reinterpret_cast<std::byte*>(words); }

  // All threads call this, for `count` bytes.
  __device__ void WriteTo(std::byte* tile, std::size_t count) {
    std::byte* const base = tile - LevelShift(tile);
    ForEach(
        LevelShift(tile), count,
        [&](std::size_t w) { reinterpret_cast<std::uint32_t*>(base)[w] = words[w]; },
        [&](std::size_t b) { base[b] = bytes()[b]; });
  }
  __device__ void ReadFrom(const std::byte* tile, std::size_t count) {
    const std::byte* const base = tile - LevelShift(tile);
    ForEach(
        LevelShift(tile), count,
        [&](std::size_t w) { words[w] = reinterpret_cast<const std::uint32_t*>(base)[w]; },
        [&](std::size_t b) { bytes()[b] = base[b]; });
  }

 private:
  /// Calls word(w) for each word whose four bytes all belong to the tile, and
  /// byte(b) for each other byte of it.
  template <typename Word, typename Byte>
  static __device__ void ForEach(std::size_t shift, std::size_t count, const Word& word,
                                 const Byte& byte) {
    const std::size_t end = shift + count;
    const std::size_t first_whole = shift == 0 ? 0 : 1;
    for (std::size_t w = first_whole + threadIdx.x; (w + 1) * 4 <= end; w += kThreads) word(w);
    if (threadIdx.x >= 8) return;
    const std::size_t first = threadIdx.x < 4 ? 0 : end / 4 * 4;  // In the first or last word.
    const bool whole = threadIdx.x < 4 ? shift == 0 && end >= 4 : first == 0;
    if (whole) return;
    const std::size_t b = first + threadIdx.x % 4;
    if (b >= shift && b < end) byte(b);
  }
};

/// Writes group number `group` of 8 levels behind `packed`.
__device__ inline void PutGroup(std::byte* packed, unsigned group, unsigned width,
                                std::uint64_t levels) {
  std::byte* const to = packed + std::size_t{group} * width;
  for (unsigned b = 0; b < width; ++b) to[b] = static_cast<std::byte>(levels >> 8 * b);
}
__device__ inline std::uint64_t GetGroup(const std::byte* packed, unsigned group, unsigned width) {
  const std::byte* const from = packed + std::size_t{group} * width;
  std::uint64_t levels = 0;
  for (unsigned b = 0; b < width; ++b) levels |= static_cast<std::uint64_t>(from[b]) << 8 * b;
  return levels;
}
/// Returns level i of a group.
__device__ inline int LevelIn(std::uint64_t group, unsigned i, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<int>(static_cast<std::int64_t>(group << (unused - i * width)) >> unused);
}

/// Returns the bytes of `count` levels.
__device__ inline std::size_t PackedBytes(std::size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

}  // namespace weir::cuda
