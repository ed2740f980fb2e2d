#include "compression/cuda/sparse/dgc_accumulate.h"
#include "compression/cuda/sparse/sparse_mark.h"
#include "compression/cuda/sparse/sparse_state.h"

namespace weir::cuda {
namespace {

/// Counts of a thread in its tile.
struct Seen {
  unsigned marks = 0;
  unsigned non_finite = 0;
};

template <Momentum kMomentum, typename Type, typename State>
__device__ Seen AccumulateTile(const SparseTensor& tensor, const SparseInput& part,
                               const MarkedTile& tile) {
  const auto* const gradient = static_cast<const typename Type::Word*>(part.gradient);
  const auto* const old_u = static_cast<const typename State::Word*>(tensor.u);
  const auto* const old_v = static_cast<const typename State::Word*>(tensor.v);
  const std::size_t n = tensor.n;
  // All loads are issued before the first value is used.
  Four g[kMarkSteps];
  Four u[kMarkSteps];
  Four v[kMarkSteps];
  for (unsigned step = 0; step < kMarkSteps; ++step) {
    const std::size_t at = tile.place(step);
    g[step] = gradient == nullptr ? Four{} : Load<Type>(gradient, at, n);
    if (kMomentum != Momentum::kNone) u[step] = Load<State>(old_u, at, n);
    v[step] = Load<State>(old_v, at, n);
  }
  Seen seen;
  for (unsigned step = 0; step < kMarkSteps; ++step) {
    const std::size_t at = tile.place(step);
    for (unsigned i = 0; i < kFour; ++i) {
      const float scaled = g[step].x[i] * part.scale;
      const bool finite = IsFinite(scaled);
      seen.non_finite += finite || at + i >= n ? 0 : 1;
      v[step].x[i] += AdvanceMomentum(kMomentum, tensor.m, finite ? scaled : 0.0f, u[step].x[i]);
    }
    std::uint32_t for_u[kFour] = {};
    std::uint32_t for_v[kFour] = {};
    if (sizeof(typename State::Word) < sizeof(float)) {
      for (unsigned i = 0; i < kFour; ++i) {
        const std::uint32_t bits = RoundingBits(part.rounding, static_cast<std::uint32_t>(at) + i);
        for_u[i] = BitsForMomentum(bits);
        for_v[i] = BitsForVelocity(bits);
      }
    }
    if (kMomentum != Momentum::kNone) Keep<State>(u[step], tensor.u, at, n, for_u);
    Keep<State>(v[step], tensor.v, at, n, for_v);
    if constexpr (kMomentum != Momentum::kNone) {
      const float tail = TailOfTensor(tensor);
      if (tail != 0.0f) {
        for (unsigned i = 0; i < kFour; ++i)
          v[step].x[i] = WithTail(tail, u[step].x[i], v[step].x[i]);
      }
    }
    seen.marks += tile.Mark(v[step], step);
  }
  return seen;
}

template <Momentum kMomentum, typename Type>
__device__ Seen AccumulateTile(const SparseTensor& tensor, const SparseInput& part,
                               const MarkedTile& tile) {
  return tensor.state == DType::kFloat32
             ? AccumulateTile<kMomentum, Type, Float32>(tensor, part, tile)
             : AccumulateTile<kMomentum, Type, BFloat16>(tensor, part, tile);
}

template <Momentum kMomentum>
__device__ Seen AccumulateTile(const SparseTensor& tensor, const SparseInput& part,
                               const MarkedTile& tile) {
  switch (part.dtype) {
    case DType::kFloat16:
      return AccumulateTile<kMomentum, Float16>(tensor, part, tile);
    case DType::kBFloat16:
      return AccumulateTile<kMomentum, BFloat16>(tensor, part, tile);
    default:
      return AccumulateTile<kMomentum, Float32>(tensor, part, tile);
  }
}

__device__ Seen AccumulateTile(const SparseTensor& tensor, const SparseInput& part,
                               const MarkedTile& tile) {
  switch (tensor.momentum) {
    case Momentum::kVanilla:
      return AccumulateTile<Momentum::kVanilla>(tensor, part, tile);
    case Momentum::kNesterov:
      return AccumulateTile<Momentum::kNesterov>(tensor, part, tile);
    default:
      return AccumulateTile<Momentum::kNone>(tensor, part, tile);
  }
}

struct Accumulate {
  __device__ unsigned operator()(const SparseBucketView& bucket, std::uint32_t index,
                                 const MarkedTile& tile) const {
    const SparseTensor tensor = bucket.tensors[index];
    const SparseInput part = bucket.parts[index];
    const Seen seen = AccumulateTile(tensor, part, tile);
    if (seen.non_finite != 0) {
      atomicAdd(&bucket.statuses[index].non_finite,
                static_cast<unsigned long long>(seen.non_finite));
    }
    return seen.marks;
  }
};

}  // namespace

void AccumulateAndMark(const SparseBucketView& bucket, cudaStream_t stream) {
  Launch(MarkKernel<Accumulate>, bucket.tiles, stream, bucket, Accumulate());
}

}  // namespace weir::cuda
