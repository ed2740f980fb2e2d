#include "compression/cuda/dgc_accumulate.h"
#include "compression/cuda/four.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

constexpr unsigned kSteps = kTile / (kThreads * kFour);

/// What a thread has seen in its tile.
struct Seen {
  unsigned marks = 0;
  unsigned non_finite = 0;
};

/// Joins the marks of four elements a lane to words, in index order, and writes them.
__device__ void WriteMarks(unsigned nibble, unsigned lane, std::uint32_t* words) {
  std::uint32_t word = nibble << lane % 8 * kFour;
  if (__any_sync(kAllLanes, nibble != 0)) {
    for (int distance = 1; distance < 8; distance *= 2) {
      word |= __shfl_xor_sync(kAllLanes, word, distance);
    }
  }
  if (lane % 8 == 0) words[lane / 8] = word;
}

template <Momentum kMomentum, typename Type>
__device__ Seen AccumulateTile(const DgcTensor& tensor, const DgcPart& part, std::size_t begin,
                               float threshold, std::uint32_t* marks) {
  const auto* const gradient = static_cast<const typename Type::Word*>(part.gradient);
  const std::size_t n = tensor.n;
  const auto place = [&](unsigned step) {
    return begin + step * kThreads * kFour + threadIdx.x * kFour;
  };
  // All that is read is asked for before the first of it is used.
  Four g[kSteps];
  Four u[kSteps];
  Four v[kSteps];
  for (unsigned step = 0; step < kSteps; ++step) {
    const std::size_t at = place(step);
    g[step] = gradient == nullptr ? Four{} : Load<Type>(gradient, at, n);
    if (kMomentum != Momentum::kNone) u[step] = Load<Float32>(tensor.u, at, n);
    v[step] = Load<Float32>(tensor.v, at, n);
  }
  Seen seen;
  for (unsigned step = 0; step < kSteps; ++step) {
    const std::size_t at = place(step);
    unsigned nibble = 0;
    for (unsigned i = 0; i < kFour; ++i) {
      const float scaled = g[step].x[i] * part.scale;
      const bool finite = IsFinite(scaled);
      seen.non_finite += finite ? 0 : 1;
      float& x = v[step].x[i];
      x += AdvanceMomentum(kMomentum, tensor.m, finite ? scaled : 0.0f, u[step].x[i]);
      const bool below = MagnitudeOfKey(MagnitudeKey(x)) < threshold;
      nibble |= !below && at + i < n ? 1u << i : 0u;
    }
    if (kMomentum != Momentum::kNone) Store(u[step], tensor.u, at, n);
    Store(v[step], tensor.v, at, n);
    seen.marks += static_cast<unsigned>(__popc(nibble));
    const unsigned warp = threadIdx.x / kWarp;
    WriteMarks(nibble, threadIdx.x % kWarp, marks + (step * kThreads + warp * kWarp) * kFour / 32);
  }
  return seen;
}

template <Momentum kMomentum>
__device__ Seen AccumulateTile(const DgcTensor& tensor, const DgcPart& part, std::size_t begin,
                               float threshold, std::uint32_t* marks) {
  switch (part.dtype) {
    case DType::kFloat16:
      return AccumulateTile<kMomentum, Float16>(tensor, part, begin, threshold, marks);
    case DType::kBFloat16:
      return AccumulateTile<kMomentum, BFloat16>(tensor, part, begin, threshold, marks);
    default:
      return AccumulateTile<kMomentum, Float32>(tensor, part, begin, threshold, marks);
  }
}

__device__ Seen AccumulateTile(const DgcTensor& tensor, const DgcPart& part, std::size_t begin,
                               float threshold, std::uint32_t* marks) {
  switch (tensor.momentum) {
    case Momentum::kVanilla:
      return AccumulateTile<Momentum::kVanilla>(tensor, part, begin, threshold, marks);
    case Momentum::kNesterov:
      return AccumulateTile<Momentum::kNesterov>(tensor, part, begin, threshold, marks);
    default:
      return AccumulateTile<Momentum::kNone>(tensor, part, begin, threshold, marks);
  }
}

/// A block a tile.
__global__ void __launch_bounds__(kThreads) AccumulateAndMarkKernel(DgcBucketView bucket) {
  __shared__ unsigned marks_of_tile;
  const unsigned tile = blockIdx.x;
  const std::uint32_t index = bucket.scratch.tile_tensors[tile];
  const DgcTensor tensor = bucket.tensors[index];
  const DgcPart part = bucket.parts[index];
  DgcStatus& status = bucket.statuses[index];
  if (threadIdx.x == 0) marks_of_tile = 0;
  __syncthreads();
  const float threshold = ThresholdOf(status.tracker, part);
  const std::size_t begin = std::size_t{tile - tensor.first_tile} * kTile;
  const Seen seen = AccumulateTile(tensor, part, begin, threshold,
                                   bucket.scratch.marks + std::size_t{tile} * kTileWords);
  if (seen.marks != 0) atomicAdd(&marks_of_tile, seen.marks);
  if (seen.non_finite != 0) {
    atomicAdd(&status.non_finite, static_cast<unsigned long long>(seen.non_finite));
  }
  __syncthreads();
  if (threadIdx.x == 0) bucket.scratch.tile_counts[tile] = marks_of_tile;
}

}  // namespace

void AccumulateAndMark(const DgcBucketView& bucket, cudaStream_t stream) {
  Launch(AccumulateAndMarkKernel, bucket.tiles, stream, bucket);
}

}  // namespace weir::cuda
