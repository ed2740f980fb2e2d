// Gradients of a bucket side by side as fp32, and back, in one launch each.
#include <algorithm>
#include <stdexcept>

#include "compression/cuda/device_array.h"
#include "compression/cuda/gradient_types.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

constexpr std::uint64_t kPackTile = 4096;

/// A tensor, and where it lies among the others.
struct Place {
  std::uint64_t first;  ///< Element.
  std::uint64_t n;
  std::uint64_t first_tile;
};

__device__ std::uint64_t TileBegin(const Place& place, std::uint64_t tile) {
  return (tile - place.first_tile) * kPackTile;
}

/// A block a tile, as all kernels here.
__global__ void __launch_bounds__(kThreads)
    PackKernel(const Place* places, const std::uint32_t* tensors, const GpuPacking::Source* sources,
               float* packed) {
  const std::uint32_t tensor = tensors[blockIdx.x];
  const GpuPacking::Source source = sources[tensor];
  if (!source.wanted) return;
  const Place place = places[tensor];
  const std::uint64_t begin = TileBegin(place, blockIdx.x);
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
    UnpackKernel(const Place* places, const std::uint32_t* tensors,
                 const GpuPacking::Target* targets, const float* packed) {
  const std::uint32_t tensor = tensors[blockIdx.x];
  const GpuPacking::Target target = targets[tensor];
  if (target.values == nullptr) return;
  const Place place = places[tensor];
  const std::uint64_t begin = TileBegin(place, blockIdx.x);
  const std::uint64_t end = std::min<std::uint64_t>(begin + kPackTile, place.n);
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    SetValue(target.values, i, target.dtype, packed[place.first + i]);
  }
}

class Packing final : public GpuPacking {
 public:
  explicit Packing(std::span<const std::size_t> elements)
      : places_(elements.size()), sources_(elements.size()), targets_(elements.size()) {
    std::uint64_t first = 0;
    std::uint64_t tiles = 0;
    const auto tiles_of = [](std::uint64_t n) { return (n + kPackTile - 1) / kPackTile; };
    for (std::size_t t = 0; t < elements.size(); ++t) {
      places_.host()[t] = {first, elements[t], tiles};
      first += elements[t];
      tiles += tiles_of(elements[t]);
    }
    tensors_ = SharedArray<std::uint32_t>(tiles);
    for (std::size_t t = 0; t < elements.size(); ++t) {
      std::ranges::fill(
          tensors_.host().subspan(places_.host()[t].first_tile, tiles_of(elements[t])),
          static_cast<std::uint32_t>(t));
    }
    places_.Upload(nullptr);
    tensors_.Upload(nullptr);
    Check(cudaStreamSynchronize(nullptr));
  }

  void Pack(std::span<const Source> sources, float* packed, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    Enter(sources, sources_, in);
    Launch(PackKernel, tensors_.size(), in, places_.device(), tensors_.device(), sources_.device(),
           packed);
  }
  void Unpack(const float* packed, std::span<const Target> targets, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    Enter(targets, targets_, in);
    Launch(UnpackKernel, tensors_.size(), in, places_.device(), tensors_.device(),
           targets_.device(), packed);
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
  SharedArray<std::uint32_t> tensors_;  ///< By tile.
};

}  // namespace

std::unique_ptr<GpuPacking> MakePacking(std::span<const std::size_t> elements) {
  return std::make_unique<Packing>(elements);
}

}  // namespace weir::cuda
