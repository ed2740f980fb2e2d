// Squared norms of a bucket's gradients, block by block (compression/squared_norm_tree.h).
#include <algorithm>
#include <stdexcept>

#include "compression/cuda/device_array.h"
#include "compression/cuda/gradient_types.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"
#include "compression/cuda/tile_table.h"
#include "compression/squared_norm_tree.h"

namespace weir::cuda {
namespace {

constexpr unsigned kPerBlock = kThreads / kNormSums;  // Norm blocks of a block of threads.

/// A tensor in a step.
struct Part {
  const void* values;
  std::uint64_t n;
  DType dtype;
  float scale;
};

/// Uses 16 threads for a norm block, each with its own running sum.
__global__ void __launch_bounds__(kThreads)
    NormKernel(const Part* parts, const Tile* tiles, std::uint64_t count, double* out) {
  __shared__ double sums[kThreads];
  const std::uint64_t block = std::uint64_t{blockIdx.x} * kPerBlock + threadIdx.x / kNormSums;
  double sum = 0.0;
  if (block < count) {
    const Tile tile = tiles[block];
    const Part part = parts[tile.tensor];
    const std::uint64_t begin = std::uint64_t{tile.number} * kNormBlock;
    const std::uint64_t end = std::min<std::uint64_t>(begin + kNormBlock, part.n);
    if (part.values != nullptr) {
      for (std::uint64_t i = begin + threadIdx.x % kNormSums; i < end; i += kNormSums) {
        const float scaled = ValueAt(part.values, i, part.dtype) * part.scale;
        const double x = scaled;
        sum += x * x;
      }
    }
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (block < count && threadIdx.x % kNormSums == 0) {
    out[block] = NormTree<kNormSums>(sums + threadIdx.x);
  }
}

class Norms final : public GpuNorms {
 public:
  explicit Norms(std::span<const std::size_t> elements)
      : parts_(elements.size()), blocks_(elements, kNormBlock), sums_(blocks_.size()) {
    for (std::size_t t = 0; t < elements.size(); ++t) {
      parts_.host()[t] = {nullptr, elements[t], DType::kFloat32, 1.0f};
    }
  }

  void Measure(std::span<const GpuNormInput> parts, void* stream) override {
    if (parts.size() != parts_.size()) throw std::runtime_error("not one part for each tensor");
    for (std::size_t t = 0; t < parts.size(); ++t) {
      Part& part = parts_.host()[t];
      part.values = parts[t].values;
      part.dtype = parts[t].dtype;
      part.scale = parts[t].scale;
    }
    const auto in = static_cast<cudaStream_t>(stream);
    parts_.Upload(in);
    const std::size_t count = sums_.size();
    Launch(NormKernel, (count + kPerBlock - 1) / kPerBlock, in, parts_.device(), blocks_.device(),
           count, sums_.device());
    sums_.Download(in);
  }

  double SquaredNorm(std::size_t tensor) const override {
    const Part& part = parts_.host()[tensor];
    const double* const sums = sums_.host().data() + blocks_.first(tensor);
    return SquaredNormTree(
        part.n, [sums](std::size_t begin, std::size_t) { return sums[begin / kNormBlock]; },
        [](std::size_t count, const auto& one) {
          for (std::size_t i = 0; i < count; ++i) one(i);
        });
  }

 private:
  SharedArray<Part> parts_;
  TileTable blocks_;
  SharedArray<double> sums_;  ///< By block.
};

}  // namespace

std::unique_ptr<GpuNorms> MakeNorms(std::span<const std::size_t> elements) {
  return std::make_unique<Norms>(elements);
}

}  // namespace weir::cuda
