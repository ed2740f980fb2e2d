// OneBitCodec: the sign of each entry, and one magnitude for all of them, which takes their sum.
#include "compression/cuda/codec_kernels.h"

namespace weir::cuda {
namespace {

constexpr std::size_t kHeader = sizeof(float);  // The magnitude.
constexpr unsigned kChunkWords = 128;  // That a block adds up while it packs the next ones.
constexpr unsigned kChunk = kChunkWords * kWarp;
constexpr unsigned kSums = 8;  // Of a word, as in compression/cpu/sign_bits.h.

struct OneBit {
  static __device__ Four Values(const CodecTensor&, const std::byte* payload, std::size_t at) {
    const float magnitude = *reinterpret_cast<const float*>(payload);
    const auto* const words = reinterpret_cast<const std::uint32_t*>(payload + kHeader);
    const std::uint32_t bits = words[at / kWarp] >> at % kWarp;
    Four values;
    for (unsigned i = 0; i < kFour; ++i) {
      values.x[i] = (bits >> i & 1u) != 0 ? -magnitude : magnitude;
    }
    return values;
  }
};

/// What is under construction of a block's sum.
struct Sums {
  float words[2][kChunkWords][kSums];  ///< Of each word of two chunks.
  float last[kWarp];                   ///< The magnitudes of the last word, if it is not full.
};

/// Packs chunk `c` of a tile, a lane an entry, and makes the sums of its words.
__device__ void PackChunk(const CodecTensor& tensor, const CodecPart& part, std::size_t begin,
                          std::size_t count, unsigned c, Sums& sums, std::uint32_t& non_finite) {
  const unsigned lane = threadIdx.x % kWarp;
  auto* const words = reinterpret_cast<std::uint32_t*>(part.payload + kHeader);
  for (unsigned w = threadIdx.x / kWarp; w < kChunkWords; w += kThreads / kWarp) {
    const std::size_t first = std::size_t{c} * kChunk + std::size_t{w} * kWarp;
    if (first >= count) return;
    const bool here = first + lane < count;
    const float value = here ? TakeOne(tensor, part, begin + first + lane, non_finite) : 0.0f;
    const std::uint32_t word = __ballot_sync(kAllLanes, value < 0.0f);
    if (lane == 0) words[(begin + first) / kWarp] = word;
    float sum = MagnitudeOfKey(MagnitudeKey(value));
    if (count - first < kWarp) sums.last[lane] = sum;
    sum += __shfl_down_sync(kAllLanes, sum, 16);
    sum += __shfl_down_sync(kAllLanes, sum, 8);
    if (lane < kSums) sums.words[c % 2][w][lane] = sum;
  }
}

/// Packs a tile, and adds up its magnitudes as cpu::PackSigns does: sum j of the words, one after
/// the other, by thread j.
__global__ void __launch_bounds__(kThreads) PackSignsKernel(CodecView view) {
  __shared__ Sums sums;
  const Tile tile = view.sum_tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecPart part = view.parts[tile.tensor];
  const std::size_t begin = std::size_t{tile.number} * kSumTile;
  const std::size_t count = tensor.n - begin < kSumTile ? tensor.n - begin : kSumTile;
  const unsigned chunks = static_cast<unsigned>((count + kChunk - 1) / kChunk);
  std::uint32_t non_finite = 0;
  double sum = 0.0;
  for (unsigned c = 0; c < chunks; ++c) {
    PackChunk(tensor, part, begin, count, c, sums, non_finite);
    __syncthreads();
    if (threadIdx.x >= kSums) continue;
    const std::size_t words = (count - std::size_t{c} * kChunk) / kWarp;
    for (unsigned w = 0; w < kChunkWords && w < words; ++w) {
      sum += static_cast<double>(sums.words[c % 2][w][threadIdx.x]);
    }
  }
  if (threadIdx.x < kSums) {
    for (unsigned i = threadIdx.x; i < count % kWarp; i += kSums) {
      sum += static_cast<double>(sums.last[i]);
    }
  }
  CountNonFinite(view, tile, non_finite);
  if (threadIdx.x >= kWarp) return;
  for (unsigned width = kSums / 2; width > 0; width /= 2) {
    sum += __shfl_down_sync(kAllLanes, sum, width);
  }
  if (threadIdx.x != 0) return;
  if (!(sum - sum == 0.0)) {  // Not finite: four were too large for a float together.
    sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      sum += static_cast<double>(MagnitudeOfKey(MagnitudeKey(TakenOne(tensor, part, begin + i))));
    }
  }
  view.sums[blockIdx.x] = sum;
}

/// A block a tensor.
__global__ void __launch_bounds__(kThreads) MagnitudeKernel(CodecView view) {
  if (threadIdx.x != 0) return;
  const std::uint32_t index = view.members[blockIdx.x];
  const CodecTensor tensor = view.tensors[index];
  float magnitude = 1.0f;
  if (tensor.rule.scaled && tensor.n > 0) {
    double sum = 0.0;
    const double* const sums = view.sums + view.first_sums[index];
    for (std::size_t t = 0; t * kSumTile < tensor.n; ++t) sum += sums[t];
    magnitude = static_cast<float>(sum / static_cast<double>(tensor.n));
  }
  *reinterpret_cast<float*>(view.parts[index].payload) = magnitude;
}

void Encode(const CodecView& view, cudaStream_t stream) {
  Launch(PackSignsKernel, view.sum_tile_count, stream, view);
  Launch(MagnitudeKernel, view.member_count, stream, view);
  SubtractFromErrors<OneBit>(view, stream);
}

}  // namespace

const CodecLaunches kOneBitLaunches{
    .encode = Encode, .put_back = AddToErrors<OneBit>, .merge = MergeMeans<OneBit>};

}  // namespace weir::cuda
