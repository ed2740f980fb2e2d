// Int8Codec: every entry in 8 bits, with a scale for each block.
#include "compression/codecs/int8.h"
#include "compression/codecs/int8_math.h"
#include "compression/cuda/codecs/codec_kernels.h"

namespace weir::cuda {
namespace {

constexpr std::size_t kStepBytes = sizeof(float);
constexpr std::size_t kBlockBytes = kStepBytes + Int8Codec::kBlock;
static_assert(Int8Codec::kBlock == kShare);  // Taken by a warp.

/// Four levels of a block as one word of a payload; the payload begins at a multiple of 4 bytes.
union Levels {
  std::uint32_t word;
  std::int8_t level[kFour];
};

struct Int8 {
  static __device__ Four Values(const CodecTensor& tensor, const std::byte* payload,
                                std::size_t at) {
    const std::byte* const block = payload + at / Int8Codec::kBlock * kBlockBytes;
    const float step = *reinterpret_cast<const float*>(block);
    const std::byte* const from = block + kStepBytes + at % Int8Codec::kBlock;
    Levels levels{};
    if (at + kFour <= tensor.n) {
      levels.word = *reinterpret_cast<const std::uint32_t*>(from);
    } else {
      for (unsigned i = 0; at + i < tensor.n; ++i) {
        levels.level[i] = static_cast<std::int8_t>(from[i]);
      }
    }
    Four values;
    for (unsigned i = 0; i < kFour; ++i) values.x[i] = Int8Value(levels.level[i], step);
    return values;
  }

  static __device__ void Write(const CodecTensor& tensor, std::byte* payload, std::size_t begin,
                               const Four (&values)[2], Four (&sent)[2]) {
    std::uint32_t largest = 0;
    for (const Four& four : values) {
      for (const float x : four.x) {
        const std::uint32_t key = MagnitudeKey(x);
        largest = key > largest ? key : largest;
      }
    }
    for (int bits = 1; bits < static_cast<int>(kWarp); bits *= 2) {
      const std::uint32_t other = __shfl_xor_sync(kAllLanes, largest, bits);
      largest = other > largest ? other : largest;
    }
    const float step = Int8Step(MagnitudeOfKey(largest));
    const unsigned lane = threadIdx.x % kWarp;
    std::byte* const block = payload + begin / Int8Codec::kBlock * kBlockBytes;
    if (lane == 0) *reinterpret_cast<float*>(block) = step;
    for (unsigned h = 0; h < 2; ++h) {
      Levels levels;
      for (unsigned i = 0; i < kFour; ++i) {
        levels.level[i] = Int8Level(values[h].x[i], step);
        sent[h].x[i] = Int8Value(levels.level[i], step);
      }
      const std::size_t in_block = h * kHalfShare + lane * kFour;
      std::byte* const to = block + kStepBytes + in_block;
      if (begin + in_block + kFour <= tensor.n) {
        *reinterpret_cast<std::uint32_t*>(to) = levels.word;
        continue;
      }
      for (unsigned i = 0; i < kFour && begin + in_block + i < tensor.n; ++i) {
        to[i] = static_cast<std::byte>(levels.level[i]);
      }
    }
  }
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeInt8(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<OnePassBucket<Int8>>(tensors);
}

}  // namespace weir::cuda
