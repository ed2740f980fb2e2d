#include <cmath>

#include "compression/cuda/codecs/codec_memory.h"
#include "compression/cuda/codecs/level_scale.h"
#include "compression/cuda/codecs/level_tiles.h"
#include "compression/cuda/launch.h"
#include "compression/squared_norm_tree.h"

namespace weir::cuda {
namespace {

static_assert(kCodecTile == kNormBlock);
constexpr unsigned kFours = kCodecTile / (kThreads * kFour);  // Per thread and tile.

/// The data of LevelScales, for kernels.
struct Scales {
  std::uint32_t* largest;
  double* squares;
};

/// The sum of a tile's squares, added up as cpu::SquaredNorm does a block; in thread 0.
__device__ double SquaresOf(const float* values) {
  __shared__ double sums[kNormSums];
  if (threadIdx.x < kNormSums) {
    double sum = 0.0;
    for (unsigned i = threadIdx.x; i < kCodecTile; i += kNormSums) {
      const double x = values[i];
      sum += x * x;
    }
    sums[threadIdx.x] = sum;
  }
  __syncthreads();
  return threadIdx.x == 0 ? NormTree<kNormSums>(sums) : 0.0;
}

/// Takes the gradients. One block per tile.
__global__ void __launch_bounds__(kThreads) TakeKernel(CodecView view, Scales scales) {
  __shared__ float values[kCodecTile];  // 0 beyond the end.
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecInput part = view.parts[tile.tensor];
  const std::size_t begin = std::size_t{tile.number} * kCodecTile;
  FourToTake loaded[kFours];
  for (unsigned f = 0; f < kFours; ++f) {
    loaded[f] = LoadFour(tensor, part, begin + (f * kThreads + threadIdx.x) * kFour);
  }
  std::uint32_t non_finite = 0;
  std::uint32_t largest = 0;
  for (unsigned f = 0; f < kFours; ++f) {
    const unsigned place = (f * kThreads + threadIdx.x) * kFour;
    const Four taken = TakeFour(tensor, part, loaded[f], begin + place, non_finite);
    if (tensor.error != nullptr) Store(taken, tensor.error, begin + place, tensor.n);
    for (unsigned i = 0; i < kFour; ++i) {
      const std::uint32_t key = MagnitudeKey(taken.x[i]);
      largest = key > largest ? key : largest;
      values[place + i] = taken.x[i];
    }
  }
  CountNonFinite(view, tile.tensor, non_finite);
  for (int distance = 1; distance < static_cast<int>(kWarp); distance *= 2) {
    const std::uint32_t other = __shfl_xor_sync(kAllLanes, largest, distance);
    largest = other > largest ? other : largest;
  }
  if (threadIdx.x % kWarp == 0 && largest != 0) atomicMax(scales.largest + tile.tensor, largest);
  if (tensor.rule.levels.scale == LevelRule::Scale::kLargest) return;
  __syncthreads();
  const double squares = SquaresOf(values);
  if (threadIdx.x == 0) scales.squares[blockIdx.x] = squares;
}

/// Adds NormSubtrees of tiles, neighbours first.
__device__ double PairwiseSum(const double* squares, std::size_t tiles, std::size_t span) {
  double waiting[32];
  double sum = 0.0;
  for (std::size_t t = 0; t < span; ++t) {
    sum = t < tiles ? squares[t] : 0.0;
    unsigned level = 0;
    for (std::size_t ends = t; ends % 2 == 1; ends /= 2) sum = waiting[level++] + sum;
    waiting[level] = sum;
  }
  return sum;
}

/// Returns the SquaredNormTree of a tensor's tiles; in thread 0.
__device__ double SquareOf(const CodecTensor& tensor, const double* squares) {
  __shared__ double sums[kNormSubtrees];
  std::size_t span = kNormBlock;  // Entries of a subtree.
  while (span * kNormSubtrees < tensor.n) span *= 2;
  const std::size_t tiles = (tensor.n + kCodecTile - 1) / kCodecTile;
  const std::size_t tiles_of_subtree = span / kCodecTile;
  if (threadIdx.x < kNormSubtrees) {
    const std::size_t first = threadIdx.x * tiles_of_subtree;
    sums[threadIdx.x] =
        first < tiles ? PairwiseSum(squares + first, tiles - first, tiles_of_subtree) : 0.0;
  }
  __syncthreads();
  return threadIdx.x == 0 ? NormTree<kNormSubtrees>(sums) : 0.0;
}

/// Writes the headers. One block per tensor.
__global__ void __launch_bounds__(kThreads) ScaleKernel(CodecView view, Scales scales) {
  const CodecTensor& tensor = view.tensors[blockIdx.x];
  const LevelRule& rule = tensor.rule.levels;
  const bool has_squares = rule.scale != LevelRule::Scale::kLargest;
  const double square =
      has_squares ? SquareOf(tensor, scales.squares + view.first_tiles[blockIdx.x]) : 0.0;
  if (threadIdx.x != 0) return;
  std::byte* const payload = view.parts[blockIdx.x].payload;
  *reinterpret_cast<float*>(payload) =
      LevelScale(rule, tensor.n, MagnitudeOfKey(scales.largest[blockIdx.x]), square,
                 [](double x) { return sqrt(x); });
  payload[sizeof(float)] = IsPacked(tensor) ? std::byte{0} : std::byte{1};
  scales.largest[blockIdx.x] = 0;
}

}  // namespace

LevelScales::LevelScales(std::size_t tensors, std::size_t tiles)
    : largest_(tensors), squares_(tiles) {
  largest_.Clear(nullptr);
  Check(cudaStreamSynchronize(nullptr));
}

void LevelScales::Take(const CodecView& view, cudaStream_t stream) {
  const Scales scales{largest_.data(), squares_.data()};
  Launch(TakeKernel, view.tile_count, stream, view, scales);
  Launch(ScaleKernel, view.tensor_count, stream, view, scales);
}

}  // namespace weir::cuda
