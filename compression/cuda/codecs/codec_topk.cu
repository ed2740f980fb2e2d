// TopKCodec: the largest entries, as sparse parts.
#include <memory>
#include <vector>

#include "compression/cuda/codecs/codec_bucket.h"
#include "compression/cuda/codecs/codec_memory.h"
#include "compression/cuda/sparse/sparse_bucket.h"
#include "compression/cuda/sparse/sparse_mark.h"

namespace weir::cuda {
namespace {

/// Stores the codec's input in v.
struct Take {
  CodecView view;

  __device__ unsigned operator()(const SparseBucketView& bucket, std::uint32_t index,
                                 const MarkedTile& tile) const {
    const CodecTensor tensor = view.tensors[index];
    const CodecInput part = view.parts[index];
    auto* const v = static_cast<float*>(bucket.tensors[index].v);
    FourToTake loaded[kMarkSteps];
    for (unsigned step = 0; step < kMarkSteps; ++step) {
      loaded[step] = LoadFour(tensor, part, tile.place(step));
    }
    unsigned marks = 0;
    std::uint32_t non_finite = 0;
    for (unsigned step = 0; step < kMarkSteps; ++step) {
      const std::size_t at = tile.place(step);
      const Four values = TakeFour(tensor, part, loaded[step], at, non_finite);
      Store(values, v, at, tensor.n);
      marks += tile.Mark(values, step);
    }
    CountNonFinite(view, index, non_finite);
    return marks;
  }
};

class TopKBucket final : public CodecBucket {
 public:
  explicit TopKBucket(std::span<const GpuCodecTensor> tensors)
      : CodecBucket(tensors),
        taken_(ElementsWithoutError(tensors)),
        sparse_(TensorsOf(tensors, taken_.data()), /*adds_back=*/true) {}

  void Forget(void* stream) override {
    CodecBucket::Forget(stream);
    sparse_.ForgetThresholds(static_cast<cudaStream_t>(stream));
  }

 private:
  /// Room for a tensor's v in taken_: each begins at a multiple of 16 bytes.
  static std::size_t RoomFor(const GpuCodecTensor& tensor) {
    return tensor.error == nullptr ? (tensor.n + kFour - 1) / kFour * kFour : 0;
  }
  static std::size_t ElementsWithoutError(std::span<const GpuCodecTensor> tensors) {
    std::size_t elements = 0;
    for (const GpuCodecTensor& tensor : tensors) elements += RoomFor(tensor);
    return elements;
  }
  static std::vector<GpuDgcTensor> TensorsOf(std::span<const GpuCodecTensor> tensors,
                                             float* taken) {
    std::vector<GpuDgcTensor> sparse;
    for (const GpuCodecTensor& tensor : tensors) {
      sparse.push_back({.n = tensor.n,
                        .v = tensor.error == nullptr ? taken : tensor.error,
                        .momentum = Momentum::kNone,
                        .masking = Masking::kNone,
                        .values = tensor.rule.values});
      taken += RoomFor(tensor);
    }
    return sparse;
  }

  void Send(const CodecView& view, std::span<const Input> inputs, cudaStream_t stream) override {
    const SparseBucketView bucket = sparse_.Begin(inputs, stream);
    Launch(MarkKernel<Take>, bucket.tiles, stream, bucket, Take{view});
    sparse_.Send(stream);
  }
  void PutBack(const CodecView&, cudaStream_t stream) override { sparse_.PutBack(stream); }
  void Reserve(std::span<const std::size_t> entries, std::size_t ranks,
               cudaStream_t stream) override {
    sparse_.ReserveMerge(entries, ranks, stream);
  }
  void Merge(const CodecView&, const CodecMeans&, std::span<const GpuMean> means,
             cudaStream_t stream) override {
    sparse_.Merge(means, stream);
  }

  DeviceArray<float> taken_;  ///< Codec inputs of tensors without an error.
  SparseBucket sparse_;
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeTopK(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<TopKBucket>(tensors);
}

}  // namespace weir::cuda
