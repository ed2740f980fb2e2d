#include "compression/cuda/codecs/codec_memory.h"
#include "compression/cuda/codecs/level_bytes.h"
#include "compression/cuda/codecs/level_gaps.h"
#include "compression/cuda/codecs/level_merge.h"
#include "compression/cuda/codecs/level_values.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

constexpr unsigned kGroups = kTileGroups / kThreads;  // Per thread and tile.

/// Decodes the levels of a tile: from equally many bits each, or from
/// gaps. All threads call all members.
class Decoder {
 public:
  struct Shared {
    float table[kLevelValues];
    LevelBytes bytes;
    alignas(std::uint64_t) std::int8_t levels[kCodecTile];
  };

  __device__ explicit Decoder(Shared& shared) : shared_(shared) {}

  __device__ void Read(const CodecTensor& tensor, const Tile& tile, const std::byte* payload,
                       std::uint64_t offset) {
    const LevelTileEntry entry = SentEntry(tensor, tile, payload, offset);
    const std::byte* const from = payload + PlaceOf(tensor, tile, offset);
    width_ = entry.packed() ? LevelWidth(tensor.rule.levels.levels) : 8;
    packed_ = entry.packed();
    begin_ = LevelShift(from);
    __syncthreads();  // The previous tile has been read.
    FillTable(tensor.rule.levels, payload, shared_.table);
    shared_.bytes.ReadFrom(from, entry.bytes);
    if (!packed_) {
      auto* const words = reinterpret_cast<std::uint32_t*>(shared_.levels);
      for (unsigned w = threadIdx.x; w < kCodecTile / 4; w += kThreads) words[w] = 0;
      __syncthreads();
      ReadGaps(shared_.bytes.words, begin_, entry, shared_.levels);
    }
    __syncthreads();
  }

  /// Calls use(i, value) for entry i of a group.
  template <typename Use>
  __device__ void ForEachOf(unsigned group, const Use& use) const {
    const std::uint64_t levels =
        packed_ ? GetGroup(shared_.bytes.bytes() + begin_, group, width_)
                : reinterpret_cast<const std::uint64_t*>(shared_.levels)[group];
    for (unsigned i = 0; i < kLevelGroup; ++i) {
      use(i, ValueIn(shared_.table, LevelIn(levels, i, width_)));
    }
  }

 private:
  Shared& shared_;
  unsigned width_ = 0;  ///< Bits of a level in the shared memory.
  unsigned begin_ = 0;  ///< First byte of the tile, in the words of its bytes.
  bool packed_ = false;
};

__global__ void __launch_bounds__(kThreads) PutBackKernel(CodecView view, LevelOffsets offsets) {
  __shared__ Decoder::Shared shared;
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  if (tensor.error == nullptr) return;
  Decoder decoder(shared);
  decoder.Read(tensor, tile, view.parts[tile.tensor].payload, offsets.Of(tensor, blockIdx.x, 0));
  const std::size_t begin = std::size_t{tile.number} * kCodecTile;
  for (unsigned g = threadIdx.x; g < kTileGroups; g += kThreads) {
    const std::size_t first = begin + g * kLevelGroup;
    if (first >= tensor.n) return;
    decoder.ForEachOf(g, [&](unsigned i, float value) {
      if (first + i < tensor.n) tensor.error[first + i] += value;
    });
  }
}

__global__ void __launch_bounds__(kThreads)
    MergeKernel(CodecView view, CodecMeans means, LevelOffsets offsets) {
  __shared__ Decoder::Shared shared;
  const Tile tile = view.tiles[blockIdx.x];
  const CodecMean target = means.targets[tile.tensor];
  if (target.mean == nullptr) return;
  const CodecTensor tensor = view.tensors[tile.tensor];
  const std::byte* const* const payloads = means.payloads + std::size_t{tile.tensor} * means.ranks;
  Decoder decoder(shared);
  float sums[kGroups][kLevelGroup] = {};
  for (std::uint32_t rank = 0; rank < means.ranks; ++rank) {
    if (payloads[rank] == nullptr) continue;
    decoder.Read(tensor, tile, payloads[rank], offsets.Of(tensor, blockIdx.x, rank));
    for (unsigned g = 0; g < kGroups; ++g) {
      decoder.ForEachOf(g * kThreads + threadIdx.x,
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

}  // namespace

void PutBackLevels(const CodecView& view, const LevelOffsets& offsets, cudaStream_t stream) {
  Launch(PutBackKernel, view.tile_count, stream, view, offsets);
}
void LoadMergeLevels() { Load(MergeKernel); }
void MergeLevels(const CodecView& view, const CodecMeans& means, const LevelOffsets& offsets,
                 cudaStream_t stream) {
  Launch(MergeKernel, view.tile_count, stream, view, means, offsets);
}

}  // namespace weir::cuda
