#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/four.h"
#include "compression/cuda/launch.h"
#include "compression/cuda/sparse/sparse_layout.h"

/// The pass before a selection: code that adds the gradients of a bucket to v also marks the
/// entries that reach the threshold with what they send, and counts them by tile.
namespace weir::cuda {

/// Steps of a thread in its share of a tile, four entries in each.
inline constexpr unsigned kMarkSteps = kTile / (kThreads * kFour);

/// A block's tile.
struct MarkedTile {
  std::size_t begin;  ///< In the tensor.
  std::size_t n;
  float threshold;
  std::uint32_t* marks;

  __device__ std::size_t place(unsigned step) const {
    return begin + step * kThreads * kFour + threadIdx.x * kFour;
  }

  /// Marks the entries at place(step), by all threads. Returns the number of this thread's.
  __device__ unsigned Mark(const Four& sends, unsigned step) const {
    unsigned nibble = 0;
    for (unsigned i = 0; i < kFour; ++i) {
      const bool below = MagnitudeOfKey(MagnitudeKey(sends.x[i])) < threshold;
      nibble |= !below && place(step) + i < n ? 1u << i : 0u;
    }
    // Joins the nibbles of eight lanes to a word, in index order.
    const unsigned lane = threadIdx.x % kWarp;
    std::uint32_t word = nibble << lane % 8 * kFour;
    if (__any_sync(kAllLanes, nibble != 0)) {
      for (int distance = 1; distance < 8; distance *= 2) {
        word |= __shfl_xor_sync(kAllLanes, word, distance);
      }
    }
    const unsigned first = step * kThreads + threadIdx.x - lane;
    if (lane % 8 == 0) marks[first * kFour / 32 + lane / 8] = word;
    return static_cast<unsigned>(__popc(nibble));
  }
};

/// Uses one block per tile. pass(bucket, index, tile) handles tile `tile` of tensor `index` and
/// returns how many entries its thread has marked.
template <typename Pass>
__global__ void __launch_bounds__(kThreads) MarkKernel(SparseBucketView bucket, Pass pass) {
  __shared__ unsigned marks_of_tile;
  const unsigned tile = blockIdx.x;
  const std::uint32_t index = bucket.scratch.tile_tensors[tile];
  const SparseTensor& tensor = bucket.tensors[index];
  if (threadIdx.x == 0) marks_of_tile = 0;
  __syncthreads();
  const unsigned marks =
      pass(bucket, index,
           MarkedTile{.begin = std::size_t{tile - tensor.first_tile} * kTile,
                      .n = tensor.n,
                      .threshold = ThresholdOf(bucket.statuses[index].tracker, bucket.parts[index]),
                      .marks = bucket.scratch.marks + std::size_t{tile} * kTileWords});
  if (marks != 0) atomicAdd(&marks_of_tile, marks);
  __syncthreads();
  if (threadIdx.x == 0) bucket.scratch.tile_counts[tile] = marks_of_tile;
}

}  // namespace weir::cuda
