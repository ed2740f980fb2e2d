#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compression/cuda/device_array.h"

namespace weir::cuda {

/// Work of one block of a kernel: tile `number` of a tensor.
struct Tile {
  std::uint32_t tensor;
  std::uint32_t number;
};

/// Tiles of a bucket's tensors, of equal size; the last one of a tensor may
/// be shorter. In the GPU's memory.
class TileTable {
 public:
  TileTable() = default;
  /// Makes no tile for a tensor of 0 elements.
  TileTable(std::span<const std::size_t> elements, std::size_t tile) {
    std::vector<Tile> tiles;
    for (std::size_t t = 0; t < elements.size(); ++t) {
      first_.push_back(tiles.size());
      for (std::size_t number = 0; number * tile < elements[t]; ++number) {
        tiles.push_back({static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(number)});
      }
    }
    tiles_ = SharedArray<Tile>(tiles.size());
    std::ranges::copy(tiles, tiles_.host().begin());
    tiles_.Upload(nullptr);
    Check(cudaStreamSynchronize(nullptr));  // The next work may be in another stream.
  }

  std::size_t size() const { return tiles_.size(); }
  /// Index of the first tile of a tensor among all tiles.
  std::size_t first(std::size_t tensor) const { return first_[tensor]; }
  const Tile* device() const { return tiles_.device(); }
  /// first() of all tensors, on the GPU.
  SharedArray<std::uint32_t> FirstOfEach() const {
    SharedArray<std::uint32_t> all(first_.size());
    std::ranges::transform(first_, all.host().begin(),
                           [](std::size_t first) { return static_cast<std::uint32_t>(first); });
    all.Upload(nullptr);
    Check(cudaStreamSynchronize(nullptr));
    return all;
  }

 private:
  SharedArray<Tile> tiles_;
  std::vector<std::size_t> first_;
};

}  // namespace weir::cuda
