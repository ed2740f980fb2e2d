// Gradients of a bucket side by side as fp32, and back, in one launch each.
#include <algorithm>
#include <stdexcept>

#include "compression/cuda/device_array.h"
#include "compression/cuda/gradient_types.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"
#include "compression/cuda/tile_table.h"

namespace weir::cuda {
namespace {

constexpr std::uint64_t kPackTile = 4096;

/// A tensor, and its place among the others.
struct Place {
  std::uint64_t first;  ///< Element.
  std::uint64_t n;
};

/// One block per tile, as in all kernels here.
__global__ void __launch_bounds__(kThreads)
    PackKernel(const Place* places, const Tile* tiles, const GpuPacking::Source* sources,
               float* packed) {
  const Tile tile = tiles[blockIdx.x];
  const GpuPacking::Source source = sources[tile.tensor];
  if (!source.wanted) return;
  const Place place = places[tile.tensor];
  const std::uint64_t begin = tile.number * kPackTile;
  const std::uint64_t end = std::min<std::uint64_t>(begin + kPackTile, place.n);
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    float value = 0.0f;
    if (source.values != nullptr) {
      value = ValueAt(source.values, i, source.dtype);
      if (source.scale != 1.0f) value *= source.scale;
    }
    packed[place.first + i] = value;
  }
}

__global__ void __launch_bounds__(kThreads)
    UnpackKernel(const Place* places, const Tile* tiles, const GpuPacking::Target* targets,
                 const float* packed) {
  const Tile tile = tiles[blockIdx.x];
  const GpuPacking::Target target = targets[tile.tensor];
  if (target.values == nullptr) return;
  const Place place = places[tile.tensor];
  const std::uint64_t begin = tile.number * kPackTile;
  const std::uint64_t end = std::min<std::uint64_t>(begin + kPackTile, place.n);
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    SetValue(target.values, i, target.dtype, packed[place.first + i]);
  }
}

class Packing final : public GpuPacking {
 public:
  explicit Packing(std::span<const std::size_t> elements)
      : places_(elements.size()),
        sources_(elements.size()),
        targets_(elements.size()),
        tiles_(elements, kPackTile) {
    std::uint64_t first = 0;
    for (std::size_t t = 0; t < elements.size(); ++t) {
      places_.host()[t] = {first, elements[t]};
      first += elements[t];
    }
    places_.Upload(nullptr);
    Check(cudaStreamSynchronize(nullptr));
    Load(UnpackKernel);
  }

  void Pack(std::span<const Source> sources, float* packed, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    Enter(sources, sources_, in);
    Launch(PackKernel, tiles_.size(), in, places_.device(), tiles_.device(), sources_.device(),
           packed);
  }
  void Unpack(const float* packed, std::span<const Target> targets, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    Enter(targets, targets_, in);
    Launch(UnpackKernel, tiles_.size(), in, places_.device(), tiles_.device(), targets_.device(),
           packed);
  }

 private:
  template <typename T>
  static void Enter(std::span<const T> parts, SharedArray<T>& array, cudaStream_t stream) {
    if (parts.size() != array.size()) throw std::runtime_error("not one part for each tensor");
    std::ranges::copy(parts, array.host().begin());
    array.Upload(stream);
  }

  SharedArray<Place> places_;
  SharedArray<Source> sources_;
  SharedArray<Target> targets_;
  TileTable tiles_;
};

}  // namespace

std::unique_ptr<GpuPacking> MakePacking(std::span<const std::size_t> elements) {
  return std::make_unique<Packing>(elements);
}

}  // namespace weir::cuda
