// OneBitCodec: the sign of each entry, and one magnitude for all, which needs their sum.
#include "compression/cuda/codecs/codec_kernels.h"

namespace weir::cuda {
namespace {

constexpr std::size_t kHeader = sizeof(float);  // The magnitude.
constexpr unsigned kSumTile = 1u << 16;         // Entries that a block packs, and adds up.
constexpr unsigned kChunkWords = 128;           // Added up while the next ones are packed.
constexpr unsigned kChunk = kChunkWords * kWarp;
constexpr unsigned kSums = 8;  // Per word, as in compression/cpu/sign_bits.h.

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

/// Partial sums of a block.
struct Sums {
  float words[2][kChunkWords][kSums];  ///< One for each word of two chunks.
  float last[kWarp];                   ///< The magnitudes of the last word, if it is not full.
};

/// Packs chunk `c` of a tile, a lane an entry, and makes the sums of its words.
__device__ void PackChunk(const CodecTensor& tensor, const CodecInput& part, std::size_t begin,
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

/// Packs a tile, and adds up its magnitudes as cpu::PackSigns does: thread j adds up sum j of the
/// words, one word after the other.
__global__ void __launch_bounds__(kThreads)
    PackSignsKernel(CodecView view, const Tile* tiles, double* tile_sums) {
  __shared__ Sums sums;
  const Tile tile = tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecInput part = view.parts[tile.tensor];
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
  CountNonFinite(view, tile.tensor, non_finite);
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
  tile_sums[blockIdx.x] = sum;
}

/// One block per tensor. `first`: by tensor, the place of its first tile's sum.
__global__ void __launch_bounds__(kThreads)
    MagnitudeKernel(CodecView view, const std::uint32_t* first, const double* tile_sums) {
  if (threadIdx.x != 0) return;
  const CodecTensor& tensor = view.tensors[blockIdx.x];
  float magnitude = 1.0f;
  if (tensor.rule.scaled && tensor.n > 0) {
    double sum = 0.0;
    const double* const sums = tile_sums + first[blockIdx.x];
    for (std::size_t t = 0; t * kSumTile < tensor.n; ++t) sum += sums[t];
    magnitude = static_cast<float>(sum / static_cast<double>(tensor.n));
  }
  *reinterpret_cast<float*>(view.parts[blockIdx.x].payload) = magnitude;
}

class OneBitBucket final : public CodecBucket {
 public:
  explicit OneBitBucket(std::span<const GpuCodecTensor> tensors)
      : CodecBucket(tensors),
        tiles_(ElementsOf(tensors), kSumTile),
        first_(tiles_.FirstOfEach()),
        sums_(tiles_.size()) {
    LoadMergeMeans<OneBit>();
  }

 private:
  void Send(const CodecView& view, std::span<const Input>, cudaStream_t stream) override {
    Launch(PackSignsKernel, tiles_.size(), stream, view, tiles_.device(), sums_.data());
    Launch(MagnitudeKernel, count(), stream, view, first_.device(), sums_.data());
    AddToErrors<OneBit>(view, -1.0f, stream);
  }
  void PutBack(const CodecView& view, cudaStream_t stream) override {
    AddToErrors<OneBit>(view, 1.0f, stream);
  }
  void Merge(const CodecView& view, const CodecMeans& received, std::span<const GpuMean>,
             cudaStream_t stream) override {
    MergeMeans<OneBit>(view, received, stream);
  }

  TileTable tiles_;
  SharedArray<std::uint32_t> first_;
  DeviceArray<double> sums_;  ///< By tile.
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeOneBit(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<OneBitBucket>(tensors);
}

}  // namespace weir::cuda
