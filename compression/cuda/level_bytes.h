#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/codecs/level_math.h"
#include "compression/cuda/codec_layout.h"
#include "compression/cuda/launch.h"

/// Packed levels of a tile, between a payload and the shared memory of a block
/// (compression/codecs/level_coding.h): 8 levels of b bits fill b bytes.
namespace weir::cuda {

inline constexpr std::size_t kLevelHeader = sizeof(float) + 1;  // The scale, and the form.
inline constexpr unsigned kLevelGroup = 8;
inline constexpr unsigned kTileGroups = kCodecTile / kLevelGroup;

/// In a payload, words of 4 bytes begin one byte before a tile does: tiles are whole words.
inline constexpr std::size_t kLevelShift = kLevelHeader % 4;
static_assert(kLevelShift == 1 && kTileGroups % 4 == 0);

/// The packed levels of a tile, at bytes kLevelShift, ...
struct LevelBytes {
  static constexpr std::size_t kMost = std::size_t{kTileGroups} * 8 + 4;
  std::uint32_t words[kMost / 4];

  __device__ std::byte* bytes() { return reinterpret_cast<std::byte*>(words); }

  __device__ void Put(unsigned group, unsigned width, std::uint64_t levels) {
    std::byte* const to = bytes() + kLevelShift + std::size_t{group} * width;
    for (unsigned b = 0; b < width; ++b) to[b] = static_cast<std::byte>(levels >> 8 * b);
  }
  __device__ std::uint64_t Get(unsigned group, unsigned width) {
    const std::byte* const from = bytes() + kLevelShift + std::size_t{group} * width;
    std::uint64_t levels = 0;
    for (unsigned b = 0; b < width; ++b) levels |= static_cast<std::uint64_t>(from[b]) << 8 * b;
    return levels;
  }

  /// Calls word(w) for each word of which `count` bytes of the tile take all four, and byte(b) for
  /// each other one of them, by all threads.
  template <typename Word, typename Byte>
  static __device__ void ForEach(std::size_t count, const Word& word, const Byte& byte) {
    const std::size_t end = kLevelShift + count;
    for (std::size_t w = 1 + threadIdx.x; (w + 1) * 4 <= end; w += kThreads) word(w);
    if (threadIdx.x >= 8) return;
    const std::size_t first = threadIdx.x < 4 ? 0 : end / 4 * 4;  // Of the first or last word.
    if (threadIdx.x >= 4 && first == 0) return;
    const std::size_t b = first + threadIdx.x % 4;
    if (b >= kLevelShift && b < end) byte(b);
  }

  /// `tile` is where the tile's bytes begin in a payload.
  __device__ void WriteTo(std::byte* tile, std::size_t count) {
    std::byte* const base = tile - kLevelShift;
    ForEach(
        count, [&](std::size_t w) { reinterpret_cast<std::uint32_t*>(base)[w] = words[w]; },
        [&](std::size_t b) { base[b] = bytes()[b]; });
  }
  __device__ void ReadFrom(const std::byte* tile, std::size_t count) {
    const std::byte* const base = tile - kLevelShift;
    ForEach(
        count, [&](std::size_t w) { words[w] = reinterpret_cast<const std::uint32_t*>(base)[w]; },
        [&](std::size_t b) { bytes()[b] = base[b]; });
  }
};

/// Level i of a group.
__device__ inline int LevelIn(std::uint64_t group, unsigned i, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<int>(static_cast<std::int64_t>(group << (unused - i * width)) >> unused);
}

/// Bytes of `count` levels.
__device__ inline std::size_t PackedBytes(std::size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

}  // namespace weir::cuda
