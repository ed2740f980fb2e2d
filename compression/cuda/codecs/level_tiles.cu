#include <algorithm>
#include <cub/cub.cuh>

#include "compression/cuda/codecs/level_tiles.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

constexpr unsigned kOwn = 16;  // Tiles that a thread takes at a time.
using Scan = cub::BlockScan<std::uint32_t, kThreads>;

/// Payloads by tensor, then rank; a null one has no tiles.
struct Payloads {
  const std::byte* const* payloads;  ///< Null: the parts' own, of one rank.
  std::uint32_t ranks;

  __device__ const std::byte* Of(const CodecView& view, std::size_t tensor,
                                 std::uint32_t rank) const {
    return payloads == nullptr ? view.parts[tensor].payload : payloads[tensor * ranks + rank];
  }
};

/// One block per payload.
__global__ void __launch_bounds__(kThreads)
    FindKernel(CodecView view, Payloads payloads, std::uint64_t* offsets) {
  __shared__ typename Scan::TempStorage storage;
  const std::uint32_t number = blockIdx.x / payloads.ranks;
  const std::uint32_t rank = blockIdx.x % payloads.ranks;
  const CodecTensor& tensor = view.tensors[number];
  const std::byte* const payload = payloads.Of(view, number, rank);
  if (IsPacked(tensor) || payload == nullptr) return;
  const std::size_t tiles = LevelTiles(tensor.n);
  std::uint64_t found = 0;
  for (std::size_t begin = 0; begin < tiles; begin += std::size_t{kThreads} * kOwn) {
    const std::size_t own = begin + std::size_t{threadIdx.x} * kOwn;
    std::uint32_t bytes[kOwn];
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < kOwn; ++i) {
      const auto tile = static_cast<std::uint32_t>(own + i);
      bytes[i] = own + i < tiles ? EntryOf(payload, tile).bytes : 0;
      sum += bytes[i];
    }
    std::uint32_t before = 0;
    std::uint32_t all = 0;
    Scan(storage).ExclusiveSum(sum, before, all);
    __syncthreads();
    std::uint64_t at = found + before;
    for (unsigned i = 0; i < kOwn && own + i < tiles; ++i) {
      offsets[(view.first_tiles[number] + own + i) * payloads.ranks + rank] = at;
      at += bytes[i];
    }
    found += all;
  }
}

/// One block per tile.
__global__ void __launch_bounds__(kThreads)
    MoveKernel(CodecView view, LevelSlots slots, LevelOffsets offsets) {
  __shared__ LevelBytes moved;
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor& tensor = view.tensors[tile.tensor];
  if (IsPacked(tensor)) return;
  std::byte* const payload = view.parts[tile.tensor].payload;
  const unsigned bytes = EntryOf(payload, tile.number).bytes;
  std::byte* const to = payload + PlaceOf(tensor, tile, offsets.Of(tensor, blockIdx.x, 0));
  const unsigned shift = LevelShift(to) * 8;  // In bits, for all words.
  const auto* const from = reinterpret_cast<const std::uint32_t*>(slots.Of(blockIdx.x));
  for (unsigned w = threadIdx.x; w * 4 < bytes + shift / 8; w += kThreads) {
    const std::uint64_t two = (w == 0 ? 0 : from[w - 1]) | static_cast<std::uint64_t>(from[w])
                                                               << 32;
    moved.words[w] = static_cast<std::uint32_t>(two >> (32 - shift));
  }
  __syncthreads();
  moved.WriteTo(to, bytes);
}

}  // namespace

LevelPlaces::LevelPlaces(std::span<const GpuCodecTensor> tensors, std::size_t tiles) {
  for (const GpuCodecTensor& tensor : tensors) {
    const LevelRule& rule = tensor.rule.levels;
    if (rule.form == LevelForm::kPacked) continue;
    slot_bytes_ = std::max<std::size_t>(slot_bytes_, kTileGroups * LevelWidth(rule.levels));
  }
  if (!used()) return;
  // One word after the last slot, because readers take two at a time.
  slots_ = DeviceArray<std::byte>(tiles * slot_bytes_ + sizeof(std::uint32_t));
  own_ = DeviceArray<std::uint64_t>(tiles);
}

void LevelPlaces::MoveTiles(const CodecView& view, cudaStream_t stream) {
  if (!used()) return;
  Launch(FindKernel, view.tensor_count, stream, view, Payloads{nullptr, 1}, own_.data());
  Launch(MoveKernel, view.tile_count, stream, view, slots(), own());
}

void LevelPlaces::Reserve(std::size_t ranks, cudaStream_t stream) {
  if (!used() || received_.size() == own_.size() * ranks) return;
  Check(cudaStreamSynchronize(stream));  // The stream may still read it.
  received_ = DeviceArray<std::uint64_t>(own_.size() * ranks);
}

LevelOffsets LevelPlaces::Find(const CodecView& view, const CodecMeans& received,
                               cudaStream_t stream) {
  if (!used()) return {nullptr, received.ranks};
  Reserve(received.ranks, stream);
  Launch(FindKernel, view.tensor_count * received.ranks, stream, view,
         Payloads{received.payloads, received.ranks}, received_.data());
  return {received_.data(), received.ranks};
}

}  // namespace weir::cuda
