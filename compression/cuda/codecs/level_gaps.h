#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cub/cub.cuh>

#include "compression/codecs/level_tile.h"
#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/launch.h"

/// WriteGaps and ReadGaps of a tile (compression/codecs/level_gaps.h) in the shared memory of a
/// block, by all of its threads.
namespace weir::cuda {

static_assert(kLevelTile == kCodecTile);
inline constexpr unsigned kOwnLevels = kLevelTile / kThreads;  // Neighbours of one thread.
static_assert(PartLevels(5) % kOwnLevels == 0);                // All in one part.

/// Combines to the last number that is not 0.
struct LastOfBoth {
  __device__ std::uint32_t operator()(std::uint32_t before, std::uint32_t behind) const {
    return behind != 0 ? behind : before;
  }
};

class GapWriter {
 public:
  using Scan = cub::BlockScan<std::uint32_t, kThreads>;
  struct Shared {
    typename Scan::TempStorage scan;
  };

  /// Takes kLevelTile levels, zeros after the end; a packed tile has `limit` bytes.
  __device__ GapWriter(Shared& shared, const std::int8_t* levels)
      : own_(levels + threadIdx.x * kOwnLevels) {
    std::uint32_t before = 0;
    std::uint32_t non_zeros = 0;
    std::uint32_t last = 0;
    std::uint32_t count = 0;
    for (unsigned i = 0; i < kOwnLevels; ++i) {
      if (own_[i] == 0) continue;
      last = threadIdx.x * kOwnLevels + i + 1;
      ++count;
    }
    Scan(shared.scan).ExclusiveSum(count, before, non_zeros);
    __syncthreads();
    entry_.parts_log2 = PartsLog2(non_zeros);
    std::uint32_t next = 0;
    Scan(shared.scan).ExclusiveScan(last, next, 0u, LastOfBoth());
    __syncthreads();
    const unsigned part = PartLevels(entry_.parts_log2);
    const unsigned begin = threadIdx.x * kOwnLevels / part * part;
    next_ = next > begin ? next : begin;
    std::uint32_t bits = 0;
    ForEachCode([&](const EliasDeltaCode& code) { bits += code.length; });
    std::uint32_t sum = 0;
    Scan(shared.scan).ExclusiveSum(bits, at_, sum);
    __syncthreads();
    entry_.bytes = static_cast<unsigned>(PartEndBytes(entry_.parts_log2)) + (sum + 7) / 8;
  }

  /// The same on all threads.
  __device__ const LevelTileEntry& entry() const { return entry_; }

  /// Writes entry().bytes bytes from byte `begin` on, into words that are 0. Without a barrier.
  __device__ void WriteTo(std::uint32_t* words, unsigned begin) const {
    const unsigned part = PartLevels(entry_.parts_log2);
    const unsigned first = threadIdx.x * kOwnLevels;
    if (first != 0 && first % part == 0) Put(words, begin * 8 + (first / part - 1) * 16, at_, 16);
    unsigned at = (begin + static_cast<unsigned>(PartEndBytes(entry_.parts_log2))) * 8 + at_;
    ForEachCode([&](const EliasDeltaCode& code) {
      Put(words, at, static_cast<std::uint32_t>(code.bits), code.length);
      at += code.length;
    });
  }

 private:
  template <typename Use>
  __device__ void ForEachCode(const Use& use) const {
    unsigned next = next_;
    for (unsigned i = 0; i < kOwnLevels; ++i) {
      if (own_[i] == 0) continue;
      const unsigned place = threadIdx.x * kOwnLevels + i + 1;
      use(CodeOfLevel(place - next, own_[i], [](std::uint64_t x) { return EliasDelta(x); }));
      next = place;
    }
  }
  /// Puts at most 32 bits into a word that other threads also write to.
  static __device__ void Put(std::uint32_t* words, unsigned at, std::uint32_t bits,
                             unsigned length) {
    atomicOr(words + at / 32, bits << at % 32);
    if (at % 32 + length > 32) atomicOr(words + at / 32 + 1, bits >> (32 - at % 32));
  }

  const std::int8_t* const own_;
  LevelTileEntry entry_{};
  unsigned next_ = 0;     ///< Begin of the gap of the first level.
  std::uint32_t at_ = 0;  ///< Its first bit, among all codes.
};

/// Returns the bits of words from `at` on.
__device__ inline std::uint32_t BitsAt(const std::uint32_t* words, unsigned at) {
  const std::uint64_t two = words[at / 32] | static_cast<std::uint64_t>(words[at / 32 + 1]) << 32;
  return static_cast<std::uint32_t>(two >> at % 32);
}

/// The code of a number below 2^15 at the beginning of `bits`; length 0 where there is none.
struct EliasDeltaFound {
  unsigned number = 0;
  unsigned length = 0;
};
__device__ inline EliasDeltaFound FindEliasDelta(std::uint32_t bits) {
  const unsigned zeros = static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
  if (zeros > 3) return {};
  const unsigned size = 1u << zeros | (bits >> (zeros + 1) & ((1u << zeros) - 1));
  const unsigned low = bits >> (2 * zeros + 1) & ((1u << (size - 1)) - 1);
  return {1u << (size - 1) | low, 2 * zeros + size};
}

/// Reads a tile whose bytes begin at byte `begin` of the words, with one word to spare, into levels
/// that are 0. Corrupt bytes give arbitrary levels.
__device__ inline void ReadGaps(const std::uint32_t* words, unsigned begin,
                                const LevelTileEntry& entry, std::int8_t* levels) {
  const unsigned parts = 1u << entry.parts_log2;
  const unsigned head = static_cast<unsigned>(PartEndBytes(entry.parts_log2));
  if (threadIdx.x >= parts || entry.bytes < head) return;
  const auto end_of = [&](unsigned p) {
    const std::uint32_t all = (entry.bytes - head) * 8;
    const std::uint32_t end = BitsAt(words, begin * 8 + p * 16) & 0xffffu;
    return p + 1 == parts || end > all ? all : end;
  };
  const unsigned first = (begin + head) * 8;
  unsigned at = first + (threadIdx.x == 0 ? 0 : end_of(threadIdx.x - 1));
  const unsigned end = first + end_of(threadIdx.x);
  const unsigned part = static_cast<unsigned>(PartLevels(entry.parts_log2));
  unsigned next = threadIdx.x * part;
  const unsigned last = next + part;
  while (at < end) {
    const EliasDeltaFound gap = FindEliasDelta(BitsAt(words, at));
    at += gap.length;
    if (gap.length == 0 || at >= end || gap.number > last - next) return;  // Or the filling.
    const std::uint32_t bits = BitsAt(words, at);
    const EliasDeltaFound size = FindEliasDelta(bits >> 1);
    at += 1 + size.length;
    if (size.length == 0 || size.number > kMostLevels) return;
    next += gap.number;
    const int level = static_cast<int>(size.number);
    levels[next - 1] = static_cast<std::int8_t>((bits & 1) != 0 ? -level : level);
  }
}

}  // namespace weir::cuda
