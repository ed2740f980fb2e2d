#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/codecs/codec_bucket.h"
#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/codecs/codec_memory.h"
#include "compression/cuda/four.h"
#include "compression/cuda/launch.h"

/// Common parts of the codecs' kernels. A codec is a type with
///
///   static Four Values(const CodecTensor&, const std::byte* payload, std::size_t at)
///
/// which decodes entries at, ..., at + 3 of a payload, with anything beyond the tensor's end; and,
/// where one pass is enough to encode,
///
///   static void Write(const CodecTensor&, std::byte* payload, std::size_t begin,
///                     const Four (&values)[2], Four (&sent)[2])
///
/// with which a warp writes kShare entries from `begin` on and returns their decoded values; the
/// first half of them are the lanes' first four.
namespace weir::cuda {

/// Half of the entries that a warp takes at a time.
inline constexpr unsigned kHalfShare = kWarp * kFour;
inline constexpr unsigned kShare = 2 * kHalfShare;

template <typename Codec>
__global__ void __launch_bounds__(kThreads) OnePassKernel(CodecView view) {
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecInput part = view.parts[tile.tensor];
  const unsigned lane = threadIdx.x % kWarp;
  std::uint32_t non_finite = 0;
  for (unsigned share = threadIdx.x / kWarp; share < kCodecTile / kShare;
       share += kThreads / kWarp) {
    const std::size_t begin = std::size_t{tile.number} * kCodecTile + share * kShare;
    if (begin >= tensor.n) break;
    const std::size_t at[2] = {begin + lane * kFour, begin + kHalfShare + lane * kFour};
    FourToTake loaded[2];
    for (unsigned h = 0; h < 2; ++h) loaded[h] = LoadFour(tensor, part, at[h]);
    Four values[2];
    for (unsigned h = 0; h < 2; ++h) {
      values[h] = TakeFour(tensor, part, loaded[h], at[h], non_finite);
    }
    Four sent[2];
    Codec::Write(tensor, part.payload, begin, values, sent);
    if (tensor.error == nullptr) continue;
    for (unsigned h = 0; h < 2; ++h) {
      for (unsigned i = 0; i < kFour; ++i) values[h].x[i] -= sent[h].x[i];
      Store(values[h], tensor.error, at[h], tensor.n);
    }
  }
  CountNonFinite(view, tile.tensor, non_finite);
}

/// Calls use(at) for each of this thread's groups of four in a tile.
template <typename Use>
__device__ void ForEachFour(const CodecTensor& tensor, const Tile& tile, const Use& use) {
  const std::size_t begin = std::size_t{tile.number} * kCodecTile;
  for (unsigned four = threadIdx.x; four < kCodecTile / kFour; four += kThreads) {
    const std::size_t at = begin + four * kFour;
    if (at < tensor.n) use(at);
  }
}

/// errors += sign * the decoded payloads.
template <typename Codec>
__global__ void __launch_bounds__(kThreads) AddToErrorKernel(CodecView view, float sign) {
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  if (tensor.error == nullptr) return;
  const std::byte* const payload = view.parts[tile.tensor].payload;
  ForEachFour(tensor, tile, [&](std::size_t at) {
    Four error = Load<Float32>(tensor.error, at, tensor.n);
    const Four sent = Codec::Values(tensor, payload, at);
    for (unsigned i = 0; i < kFour; ++i) error.x[i] += sign * sent.x[i];
    Store(error, tensor.error, at, tensor.n);
  });
}

template <typename Codec>
__global__ void __launch_bounds__(kThreads) MergeKernel(CodecView view, CodecMeans means) {
  const Tile tile = view.tiles[blockIdx.x];
  const CodecMean target = means.targets[tile.tensor];
  if (target.mean == nullptr) return;
  const CodecTensor tensor = view.tensors[tile.tensor];
  const std::byte* const* const payloads = means.payloads + std::size_t{tile.tensor} * means.ranks;
  ForEachFour(tensor, tile, [&](std::size_t at) {
    Four mean{};
    for (std::uint32_t rank = 0; rank < means.ranks; ++rank) {
      if (payloads[rank] == nullptr) continue;
      const Four values = Codec::Values(tensor, payloads[rank], at);
      for (unsigned i = 0; i < kFour; ++i) mean.x[i] += values.x[i];
    }
    const bool votes = tensor.rule.memory == GpuCodecRule::Memory::kSignum;
    for (float& x : mean.x) {
      x /= static_cast<float>(means.ranks);
      if (votes) x = SignOf(x);
    }
    StoreAny(mean, target.mean, target.dtype, at, tensor.n);
  });
}

template <typename Codec>
void AddToErrors(const CodecView& view, float sign, cudaStream_t stream) {
  Launch(AddToErrorKernel<Codec>, view.tile_count, stream, view, sign);
}
template <typename Codec>
void LoadMergeMeans() {
  Load(MergeKernel<Codec>);
}
template <typename Codec>
void MergeMeans(const CodecView& view, const CodecMeans& received, cudaStream_t stream) {
  Launch(MergeKernel<Codec>, view.tile_count, stream, view, received);
}

/// A codec for which one pass is enough to encode.
template <typename Codec>
class OnePassBucket final : public CodecBucket {
 public:
  explicit OnePassBucket(std::span<const GpuCodecTensor> tensors) : CodecBucket(tensors) {
    LoadMergeMeans<Codec>();
  }

 private:
  void Send(const CodecView& view, std::span<const Input>, cudaStream_t stream) override {
    Launch(OnePassKernel<Codec>, view.tile_count, stream, view);
  }
  void PutBack(const CodecView& view, cudaStream_t stream) override {
    AddToErrors<Codec>(view, 1.0f, stream);
  }
  void Merge(const CodecView& view, const CodecMeans& received, std::span<const GpuMean>,
             cudaStream_t stream) override {
    MergeMeans<Codec>(view, received, stream);
  }
};

}  // namespace weir::cuda
