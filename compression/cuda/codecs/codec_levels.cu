// QuantizerCodec: dithering, terngrad, quant3. One pass takes the gradients and finds the scale, a
// second one rounds and writes. In the shorter form, tiles are then moved to their final places.
#include <memory>

#include "compression/cuda/codecs/codec_bucket.h"
#include "compression/cuda/codecs/codec_memory.h"
#include "compression/cuda/codecs/level_bytes.h"
#include "compression/cuda/codecs/level_gaps.h"
#include "compression/cuda/codecs/level_merge.h"
#include "compression/cuda/codecs/level_scale.h"
#include "compression/cuda/codecs/level_tiles.h"
#include "compression/cuda/codecs/level_values.h"
#include "compression/random/counter_random.h"

namespace weir::cuda {
namespace {

constexpr unsigned kDraws = kCodecTile / 4 / kThreads;  // Random blocks per thread and tile.

/// Rounds the entries of a tile that share a block of random numbers, number `draw` of the tile's.
__device__ void RoundDrawn(const CodecTensor& tensor, const CodecInput& part, const Tile& tile,
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

/// Writes packed levels at the beginning of a tile.
__device__ void WritePacked(const std::int8_t* levels, unsigned width, LevelBytes& bytes,
                            std::byte* tile, std::size_t count) {
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  for (unsigned g = threadIdx.x; g < kTileGroups; g += kThreads) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < kLevelGroup; ++i) {
      const auto level = static_cast<std::uint8_t>(levels[g * kLevelGroup + i]);
      word |= (level & mask) << i * width;
    }
    PutGroup(bytes.bytes() + LevelShift(tile), g, width, word);
  }
  __syncthreads();
  bytes.WriteTo(tile, PackedBytes(count, width));
}

__device__ void WriteGaps(const GapWriter& gaps, LevelBytes& bytes, std::byte* slot) {
  const unsigned end = LevelShift(slot) + gaps.entry().bytes;
  for (unsigned w = threadIdx.x; w * 4 < end; w += kThreads) bytes.words[w] = 0;
  __syncthreads();
  gaps.WriteTo(bytes.words, LevelShift(slot));
  __syncthreads();
  bytes.WriteTo(slot, gaps.entry().bytes);
}

/// Writes the levels, and leaves in the errors what these lack. One block per tile.
__global__ void __launch_bounds__(kThreads) RoundKernel(CodecView view, LevelSlots slots) {
  __shared__ float table[kLevelValues];
  __shared__ std::int8_t levels[kCodecTile];
  __shared__ LevelBytes bytes;
  __shared__ GapWriter::Shared gap_writer;
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecInput part = view.parts[tile.tensor];
  FillTable(tensor.rule.levels, part.payload, table);
  __syncthreads();
  for (unsigned d = 0; d < kDraws; ++d) {
    RoundDrawn(tensor, part, tile, d * kThreads + threadIdx.x, table, levels);
  }
  __syncthreads();
  const unsigned width = LevelWidth(tensor.rule.levels.levels);
  const std::size_t count = CountOf(tensor, tile);
  if (IsPacked(tensor)) {
    return WritePacked(levels, width, bytes, part.payload + PlaceOf(tensor, tile, 0), count);
  }
  const GapWriter gaps(gap_writer, levels);
  const auto packed = static_cast<unsigned>(PackedBytes(count, width));
  const bool shorter = gaps.entry().bytes < packed;
  std::byte* const slot = slots.Of(blockIdx.x);
  if (shorter) {
    WriteGaps(gaps, bytes, slot);
  } else {
    WritePacked(levels, width, bytes, slot, count);
  }
  if (threadIdx.x != 0) return;
  PutEntry(part.payload, tile.number,
           shorter ? gaps.entry() : LevelTileEntry{packed, LevelTileEntry::kPacked});
}

class LevelBucket final : public CodecBucket {
 public:
  explicit LevelBucket(std::span<const GpuCodecTensor> tensors)
      : CodecBucket(tensors),
        scales_(tensors.size(), tiles().size()),
        places_(tensors, tiles().size()) {
    LoadMergeLevels();
  }

 private:
  void Send(const CodecView& view, std::span<const Input>, cudaStream_t stream) override {
    scales_.Take(view, stream);
    Launch(RoundKernel, view.tile_count, stream, view, places_.slots());
    places_.MoveTiles(view, stream);
  }
  void PutBack(const CodecView& view, cudaStream_t stream) override {
    PutBackLevels(view, places_.own(), stream);
  }
  void Reserve(std::span<const std::size_t>, std::size_t ranks, cudaStream_t stream) override {
    places_.Reserve(ranks, stream);
  }
  void Merge(const CodecView& view, const CodecMeans& received, std::span<const GpuMean>,
             cudaStream_t stream) override {
    MergeLevels(view, received, places_.Find(view, received, stream), stream);
  }

  LevelScales scales_;
  LevelPlaces places_;
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeLevels(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<LevelBucket>(tensors);
}

}  // namespace weir::cuda
