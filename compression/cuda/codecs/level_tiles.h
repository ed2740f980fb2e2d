#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/codecs/level_tile.h"
#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/codecs/level_bytes.h"
#include "compression/cuda/device_array.h"
#include "compression/gpu/gpu_kernels.h"

/// Places of level tiles in payloads (docs/wire-format.md, "Levels"). In the shorter form only a
/// tile's own block knows its length: it writes into a slot, and then all tiles move together.
namespace weir::cuda {

__device__ inline bool IsPacked(const CodecTensor& tensor) {
  return tensor.rule.levels.form == LevelForm::kPacked;
}

/// Returns the elements of a tile.
__device__ inline std::size_t CountOf(const CodecTensor& tensor, const Tile& tile) {
  const std::size_t rest = tensor.n - std::size_t{tile.number} * kCodecTile;
  return rest < kCodecTile ? rest : kCodecTile;
}

/// Returns a tile's entry in a payload in the shorter form.
__device__ inline LevelTileEntry EntryOf(const std::byte* payload, std::uint32_t number) {
  const std::byte* const at = payload + kLevelHeader + std::size_t{number} * LevelTileEntry::kBytes;
  return LevelTileEntry::Of(static_cast<unsigned>(at[0]) | static_cast<unsigned>(at[1]) << 8);
}
__device__ inline void PutEntry(std::byte* payload, std::uint32_t number,
                                const LevelTileEntry& entry) {
  std::byte* const at = payload + kLevelHeader + std::size_t{number} * LevelTileEntry::kBytes;
  at[0] = static_cast<std::byte>(entry.word());
  at[1] = static_cast<std::byte>(entry.word() >> 8);
}

/// Start of a tile in a payload; in the shorter form `offset` bytes after the table.
__device__ inline std::size_t PlaceOf(const CodecTensor& tensor, const Tile& tile,
                                      std::uint64_t offset) {
  if (!IsPacked(tensor))
    return kLevelHeader + LevelTiles(tensor.n) * LevelTileEntry::kBytes + offset;
  const unsigned width = LevelWidth(tensor.rule.levels.levels);
  return kLevelHeader + std::size_t{tile.number} * kTileGroups * width;
}

/// Returns a payload's entry for a tile that begins `offset` bytes after the table. An entry that
/// no sender writes counts as no bytes: zeros.
__device__ inline LevelTileEntry SentEntry(const CodecTensor& tensor, const Tile& tile,
                                           const std::byte* payload, std::uint64_t offset) {
  const unsigned width = LevelWidth(tensor.rule.levels.levels);
  const auto most = static_cast<unsigned>(PackedBytes(CountOf(tensor, tile), width));
  if (IsPacked(tensor)) return {most, LevelTileEntry::kPacked};
  const LevelTileEntry entry = EntryOf(payload, tile.number);
  const bool fits = entry.packed() ? entry.bytes == most : entry.bytes < most;
  return fits && offset + entry.bytes <= PackedBytes(tensor.n, width) ? entry : LevelTileEntry{};
}

/// Room for tiles until their places are known: whole words.
struct LevelSlots {
  std::byte* slots;
  std::size_t size;

  __device__ std::byte* Of(std::size_t tile) const { return slots + tile * size; }
};

/// Start of each tile, in bytes after the table, by tile of the bucket,
/// then rank. For the shorter form.
struct LevelOffsets {
  const std::uint64_t* offsets;
  std::uint32_t ranks;

  __device__ std::uint64_t Of(const CodecTensor& tensor, std::size_t tile,
                              std::uint32_t rank) const {
    return IsPacked(tensor) ? 0 : offsets[tile * ranks + rank];
  }
};

/// Memory for the tiles of a bucket's tensors in the shorter form, beside the payloads: at most a
/// word for 16 bytes of gradient, and 8 bytes per tile and rank. None where all are packed.
class LevelPlaces {
 public:
  LevelPlaces(std::span<const GpuCodecTensor> tensors, std::size_t tiles);

  LevelSlots slots() const { return {slots_.data(), slot_bytes_}; }
  /// Moves the tiles from their slots into the parts' payloads.
  void MoveTiles(const CodecView& view, cudaStream_t stream);
  /// Offsets in the parts' own payloads, once the tiles are moved.
  LevelOffsets own() const { return {own_.data(), 1}; }
  /// Makes room for payloads of so many ranks, so that Find does not wait.
  void Reserve(std::size_t ranks, cudaStream_t stream);
  /// Finds the offsets in received payloads.
  LevelOffsets Find(const CodecView& view, const CodecMeans& received, cudaStream_t stream);

 private:
  bool used() const { return slot_bytes_ > 0; }

  std::size_t slot_bytes_ = 0;
  DeviceArray<std::byte> slots_;
  DeviceArray<std::uint64_t> own_;
  DeviceArray<std::uint64_t> received_;
};

}  // namespace weir::cuda
