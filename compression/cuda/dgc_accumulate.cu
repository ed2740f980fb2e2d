#include "compression/cuda/dgc_accumulate.h"
#include "compression/cuda/gradient_types.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

constexpr unsigned kWidth = 4;  // Elements that a thread takes at a time.
constexpr unsigned kSteps = kTile / (kThreads * kWidth);

struct Four {
  float x[kWidth];
};

/// Four words of a type, read at once.
template <typename Word>
struct VectorOf {
  using Type = uint2;
};
template <>
struct VectorOf<float> {
  using Type = float4;
};

/// data[at] and the three that follow; 0 beyond n.
template <typename Type>
__device__ Four Load(const typename Type::Word* data, std::size_t at, std::size_t n) {
  using Word = typename Type::Word;
  using Vector = typename VectorOf<Word>::Type;
  static_assert(sizeof(Vector) == kWidth * sizeof(Word));
  union {
    Vector vector;
    Word words[kWidth];
  } loaded{};
  const Word* const from = data + at;
  if (at + kWidth <= n && reinterpret_cast<std::uintptr_t>(from) % sizeof(Vector) == 0) {
    loaded.vector = *reinterpret_cast<const Vector*>(from);
  } else {
    for (unsigned i = 0; i < kWidth; ++i) {
      loaded.words[i] = at + i < n ? from[i] : Word{};
    }
  }
  Four four;
  for (unsigned i = 0; i < kWidth; ++i) four.x[i] = Type::Value(loaded.words[i]);
  return four;
}

/// `data` begins at a multiple of 16 bytes.
__device__ void Store(const Four& four, float* data, std::size_t at, std::size_t n) {
  if (at + kWidth <= n) {
    *reinterpret_cast<float4*>(data + at) = float4{four.x[0], four.x[1], four.x[2], four.x[3]};
    return;
  }
  for (unsigned i = 0; i < kWidth && at + i < n; ++i) data[at + i] = four.x[i];
}

/// What a thread has seen in its tile.
struct Seen {
  unsigned marks = 0;
  unsigned non_finite = 0;
};

/// Joins the marks of four elements a lane to words, in index order, and writes them.
__device__ void WriteMarks(unsigned nibble, unsigned lane, std::uint32_t* words) {
  std::uint32_t word = nibble << lane % 8 * kWidth;
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
    return begin + step * kThreads * kWidth + threadIdx.x * kWidth;
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
    for (unsigned i = 0; i < kWidth; ++i) {
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
    WriteMarks(nibble, threadIdx.x % kWarp, marks + (step * kThreads + warp * kWarp) * kWidth / 32);
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
