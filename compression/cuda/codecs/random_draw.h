#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compression/cuda/device_array.h"
#include "compression/cuda/tile_table.h"

namespace weir::cuda {

/// RandomIndices of each of a bucket's tensors (compression/codecs/random_indices.h; the same
/// indices). Floyd's algorithm takes one draw after the other. Here all are drawn at once, and
/// sorting tells which of them came first.
class RandomDraw {
 public:
  struct Tensor {
    std::size_t n;
    std::uint32_t key[2];  ///< The key of CounterRandom.
  };
  explicit RandomDraw(std::span<const Tensor> tensors);

  /// Sets the number of draws of each tensor; 0 for tensors to leave out. Waits for the stream when
  /// a number differs from the last call's.
  void SetCounts(std::span<const std::size_t> counts, cudaStream_t stream);
  /// Draws for steps[tensor], which is on the GPU.
  void Draw(const std::int64_t* steps, cudaStream_t stream);

  /// Data of a tensor, for kernels.
  struct Job {
    std::uint64_t n;
    std::uint32_t key[2];
    std::uint32_t k;
    std::uint32_t base;   ///< Its first element among those of all tensors.
    std::uint32_t first;  ///< Its first entry among those of all tensors.
  };
  struct View {
    const Job* jobs;
    const std::uint32_t* drawn;  ///< By entry, ascending, counted from the bucket's first element.
    const Tile* tiles;           ///< Each has kDrawTile entries.
    std::size_t tile_count;

    /// Returns entry e of a tensor.
    __device__ std::uint32_t Index(const Job& job, std::uint32_t e) const {
      return drawn[job.first + e] - job.base;
    }
  };
  View view() const { return {jobs_.device(), sorted_.data(), tiles_.device(), tiles_.size()}; }
  std::size_t entries() const { return sorted_.size(); }

 private:
  void Sort(void* storage, std::size_t& bytes, cudaStream_t stream) const;
  void SortDrawn(void* storage, std::size_t& bytes, cudaStream_t stream) const;

  SharedArray<Job> jobs_;
  int bits_ = 0;  ///< Bits of the number of the bucket's last element.
  std::vector<std::size_t> counts_;
  TileTable tiles_;
  // By entry, in the order of the draws.
  DeviceArray<std::uint32_t> numbers_;
  DeviceArray<std::uint32_t> places_;
  DeviceArray<bool> repeats_;  ///< An earlier draw has the same number.
  // Sorted by number.
  DeviceArray<std::uint32_t> sorted_;
  DeviceArray<std::uint32_t> sorted_places_;
  DeviceArray<std::byte> storage_;  ///< CUB's.
};

inline constexpr unsigned kDrawTile = 1024;

/// Calls use(e) for each of this thread's entries in a block's tile.
template <typename Use>
__device__ void ForEachEntry(const RandomDraw::Job& job, const Tile& tile, const Use& use) {
  for (unsigned i = threadIdx.x; i < kDrawTile; i += kThreads) {
    const std::uint32_t e = tile.number * kDrawTile + i;
    if (e < job.k) use(e);
  }
}

}  // namespace weir::cuda
