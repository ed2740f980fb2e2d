// QuantizerCodec with packed levels: dithering, terngrad, quant3. One pass takes the gradients in
// and finds the scale, a second one rounds.
#include <cmath>
#include <memory>
#include <vector>

#include "compression/counter_random.h"
#include "compression/cuda/codec_bucket.h"
#include "compression/cuda/codec_memory.h"
#include "compression/cuda/level_bytes.h"
#include "compression/squared_norm_tree.h"

namespace weir::cuda {
namespace {

static_assert(kCodecTile == kNormBlock);
constexpr unsigned kFours = kCodecTile / (kThreads * kFour);  // Of a thread, in a tile.
constexpr unsigned kGroups = kTileGroups / kThreads;          // The same of groups.
constexpr unsigned kTables = kMostLevels + 2;                 // Of magnitudes that fit 8 bits.
constexpr unsigned kDraws = kCodecTile / 4 / kThreads;        // Blocks of a thread.

/// What is found out about the scales.
struct Scales {
  std::uint32_t* largest;      ///< By tensor, the largest key; 0 before a step.
  double* squares;             ///< By tile.
  const std::uint32_t* first;  ///< By tensor, its first tile.
};

__device__ std::size_t CountOf(const CodecTensor& tensor, const Tile& tile) {
  const std::size_t rest = tensor.n - std::size_t{tile.number} * kCodecTile;
  return rest < kCodecTile ? rest : kCodecTile;
}

/// The sum of a tile's squares, as cpu::SquaredNorm adds up a block; in thread 0.
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

/// Takes the gradients in, a block a tile.
__global__ void __launch_bounds__(kThreads) TakeKernel(CodecView view, Scales scales) {
  __shared__ float values[kCodecTile];  // 0 beyond the end.
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecPart part = view.parts[tile.tensor];
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

/// NormSubtree of tiles: neighbours first.
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

/// SquaredNormTree of a tensor's tiles; in thread 0.
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

/// Writes the headers, a block a tensor.
__global__ void __launch_bounds__(kThreads) ScaleKernel(CodecView view, Scales scales) {
  const CodecTensor& tensor = view.tensors[blockIdx.x];
  const LevelRule& rule = tensor.rule.levels;
  const bool has_squares = rule.scale != LevelRule::Scale::kLargest;
  const double square =
      has_squares ? SquareOf(tensor, scales.squares + scales.first[blockIdx.x]) : 0.0;
  if (threadIdx.x != 0) return;
  std::byte* const payload = view.parts[blockIdx.x].payload;
  *reinterpret_cast<float*>(payload) =
      LevelScale(rule, tensor.n, MagnitudeOfKey(scales.largest[blockIdx.x]), square,
                 [](double x) { return sqrt(x); });
  payload[sizeof(float)] = std::byte{0};  // All are packed.
  scales.largest[blockIdx.x] = 0;
}

/// What the levels of a payload stand for, by magnitude; by all threads.
__device__ void FillTable(const LevelRule& rule, const std::byte* payload, float* table) {
  const float scale = *reinterpret_cast<const float*>(payload);
  for (unsigned level = threadIdx.x; level < kTables; level += kThreads) {
    const bool is_one = level <= static_cast<unsigned>(rule.levels);
    table[level] = is_one ? LevelValue(rule, scale, static_cast<int>(level)) : 0.0f;
  }
}
__device__ float ValueIn(const float* table, int level) {
  return level < 0 ? -table[-level] : table[level];
}

/// Rounds the entries of a tile that share a block of random numbers, number `draw` of the tile's.
__device__ void RoundDrawn(const CodecTensor& tensor, const CodecPart& part, const Tile& tile,
                           unsigned draw, const float* table, std::int8_t* levels) {
  const LevelRule& rule = tensor.rule.levels;
  const float scale = *reinterpret_cast<const float*>(part.payload);
  const std::size_t begin = std::size_t{tile.number} * kCodecTile;
  const bool at_random = rule.rounding == LevelRule::Rounding::kRandom && scale != 0.0f;
  CounterRandom::Block words{};
  if (at_random) {
    const CounterRandom random({tensor.rule.key[0], tensor.rule.key[1]});
    const auto step = static_cast<std::uint64_t>(part.step);
    words = random.Draw(CounterRandom::Block{
        static_cast<std::uint32_t>(begin / 4 + draw), static_cast<std::uint32_t>(part.rank),
        static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32)});
  }
  const unsigned first = draw / kDitherBlocks * kDitherChunk + draw % kDitherBlocks;
  for (unsigned w = 0; w < 4; ++w) {
    const unsigned place = first + w * kDitherBlocks;
    const std::size_t i = begin + place;
    int level = 0;
    if (i < tensor.n) {
      const float value = TakenOne(tensor, part, i);
      const float unit = at_random ? DitherUnit(words[w]) : 0.5f;
      if (scale != 0.0f) level = LevelOf(rule, scale, value, unit);
      if (tensor.error != nullptr) tensor.error[i] = value - ValueIn(table, level);
    }
    levels[place] = static_cast<std::int8_t>(level);
  }
}

/// Writes the levels, and leaves in the errors what these lack; a block a tile.
__global__ void __launch_bounds__(kThreads) RoundKernel(CodecView view) {
  __shared__ float table[kTables];
  __shared__ std::int8_t levels[kCodecTile];
  __shared__ LevelBytes packed;
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecPart part = view.parts[tile.tensor];
  FillTable(tensor.rule.levels, part.payload, table);
  __syncthreads();
  for (unsigned d = 0; d < kDraws; ++d) {
    RoundDrawn(tensor, part, tile, d * kThreads + threadIdx.x, table, levels);
  }
  __syncthreads();
  const unsigned width = LevelWidth(tensor.rule.levels.levels);
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  for (unsigned g = threadIdx.x; g < kTileGroups; g += kThreads) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < kLevelGroup; ++i) {
      const auto level = static_cast<std::int64_t>(levels[g * kLevelGroup + i]);
      word |= (static_cast<std::uint64_t>(level) & mask) << i * width;
    }
    packed.Put(g, width, word);
  }
  __syncthreads();
  packed.WriteTo(part.payload + kLevelHeader + std::size_t{tile.number} * kTileGroups * width,
                 PackedBytes(CountOf(tensor, tile), width));
}

/// The levels of a tile, as they are decoded. All members by all threads.
struct Decoder {
  float* table;
  LevelBytes* packed;

  __device__ void Read(const CodecTensor& tensor, const Tile& tile,
                       const std::byte* payload) const {
    const unsigned width = LevelWidth(tensor.rule.levels.levels);
    __syncthreads();  // What was read before is done with.
    FillTable(tensor.rule.levels, payload, table);
    packed->ReadFrom(payload + kLevelHeader + std::size_t{tile.number} * kTileGroups * width,
                     PackedBytes(CountOf(tensor, tile), width));
    __syncthreads();
  }
  /// use(i, value) for entry i of a group.
  template <typename Use>
  __device__ void ForEachOf(unsigned group, unsigned width, const Use& use) const {
    const std::uint64_t levels = packed->Get(group, width);
    for (unsigned i = 0; i < kLevelGroup; ++i) use(i, ValueIn(table, LevelIn(levels, i, width)));
  }
};

__global__ void __launch_bounds__(kThreads) PutBackKernel(CodecView view) {
  __shared__ float table[kTables];
  __shared__ LevelBytes packed;
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  if (tensor.error == nullptr) return;
  const Decoder decoder{table, &packed};
  decoder.Read(tensor, tile, view.parts[tile.tensor].payload);
  const std::size_t begin = std::size_t{tile.number} * kCodecTile;
  for (unsigned g = threadIdx.x; g < kTileGroups; g += kThreads) {
    const std::size_t first = begin + g * kLevelGroup;
    if (first >= tensor.n) return;
    decoder.ForEachOf(g, LevelWidth(tensor.rule.levels.levels), [&](unsigned i, float value) {
      if (first + i < tensor.n) tensor.error[first + i] += value;
    });
  }
}

__global__ void __launch_bounds__(kThreads) MergeKernel(CodecView view, CodecMeans means) {
  __shared__ float table[kTables];
  __shared__ LevelBytes packed;
  const Tile tile = view.tiles[blockIdx.x];
  const CodecMean target = means.targets[tile.tensor];
  if (target.mean == nullptr) return;
  const CodecTensor tensor = view.tensors[tile.tensor];
  const unsigned width = LevelWidth(tensor.rule.levels.levels);
  const std::byte* const* const payloads = means.payloads + std::size_t{tile.tensor} * means.ranks;
  const Decoder decoder{table, &packed};
  float sums[kGroups][kLevelGroup] = {};
  for (std::uint32_t rank = 0; rank < means.ranks; ++rank) {
    if (payloads[rank] == nullptr) continue;
    decoder.Read(tensor, tile, payloads[rank]);
    for (unsigned g = 0; g < kGroups; ++g) {
      decoder.ForEachOf(g * kThreads + threadIdx.x, width,
                        [&](unsigned i, float value) { sums[g][i] += value; });
    }
  }
  const std::size_t begin = std::size_t{tile.number} * kCodecTile;
  for (unsigned g = 0; g < kGroups; ++g) {
    for (unsigned f = 0; f < kLevelGroup; f += kFour) {
      const std::size_t at = begin + (g * kThreads + threadIdx.x) * kLevelGroup + f;
      Four mean;
      for (unsigned i = 0; i < kFour; ++i) {
        mean.x[i] = sums[g][f + i] / static_cast<float>(means.ranks);
      }
      if (at < tensor.n) StoreAny(mean, target.mean, target.dtype, at, tensor.n);
    }
  }
}

class LevelBucket final : public CodecBucket {
 public:
  explicit LevelBucket(std::span<const GpuCodecTensor> tensors)
      : CodecBucket(tensors),
        first_(tiles().FirstOfEach()),
        largest_(tensors.size()),
        squares_(tiles().size()) {
    largest_.Clear(nullptr);
    Check(cudaStreamSynchronize(nullptr));
  }

 private:
  void Send(const CodecView& view, std::span<const Part>, cudaStream_t stream) override {
    const Scales scales{largest_.data(), squares_.data(), first_.device()};
    Launch(TakeKernel, view.tile_count, stream, view, scales);
    Launch(ScaleKernel, count(), stream, view, scales);
    Launch(RoundKernel, view.tile_count, stream, view);
  }
  void PutBack(const CodecView& view, cudaStream_t stream) override {
    Launch(PutBackKernel, view.tile_count, stream, view);
  }
  void Merge(const CodecView& view, const CodecMeans& received, std::span<const GpuMean>,
             cudaStream_t stream) override {
    Launch(MergeKernel, view.tile_count, stream, view, received);
  }

  SharedArray<std::uint32_t> first_;
  DeviceArray<std::uint32_t> largest_;
  DeviceArray<double> squares_;
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeLevels(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<LevelBucket>(tensors);
}

}  // namespace weir::cuda
