// CastCodec: every entry as fp32, fp16 or bf16.
#include "compression/codecs/cast_math.h"
#include "compression/cuda/codecs/codec_kernels.h"

namespace weir::cuda {
namespace {

struct Cast {
  static __device__ Four Values(const CodecTensor& tensor, const std::byte* payload,
                                std::size_t at) {
    return LoadAny(payload, tensor.rule.dtype, at, tensor.n);
  }

  static __device__ void Write(const CodecTensor& tensor, std::byte* payload, std::size_t begin,
                               const Four (&values)[2], Four (&sent)[2]) {
    const DType dtype = tensor.rule.dtype;
    const unsigned lane = threadIdx.x % kWarp;
    for (unsigned h = 0; h < 2; ++h) {
      const std::size_t at = begin + h * kHalfShare + lane * kFour;
      sent[h] = values[h];
      if (dtype != DType::kFloat32) {
        for (float& x : sent[h].x) x = Widened(Narrowed(x, dtype), dtype);
      }
      StoreAny(sent[h], payload, dtype, at, tensor.n);
    }
  }
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeCast(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<OnePassBucket<Cast>>(tensors);
}

}  // namespace weir::cuda
