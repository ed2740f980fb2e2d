#include "ops/collectives/reduce_scatter.h"

#include <algorithm>
#include <string>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

namespace {
constexpr std::size_t kInFlight = ChunkStream::kInFlight;
constexpr std::size_t kAlignment = 64;
}  // namespace

void AlignedParts(std::size_t elements, DType dtype, std::span<std::size_t> offsets) {
  const std::size_t unit = kAlignment / SizeOf(dtype);
  const std::size_t parts = offsets.size() - 1;
  const std::size_t units = (elements + unit - 1) / unit;
  const std::size_t part = (units + parts - 1) / parts * unit;
  for (std::size_t i = 0; i <= parts; ++i) offsets[i] = std::min(elements, i * part);
}

ReduceScatter::ReduceScatter(Transport& transport)
    : transport_(transport),
      offsets_(static_cast<std::size_t>(transport.size()) + 1),
      peers_(static_cast<std::size_t>(transport.size() - 1)),
      sources_(static_cast<std::size_t>(transport.size())) {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].rank = (transport.rank() + 1 + static_cast<int>(i)) % transport.size();
  }
}

void ReduceScatter::set_chunk_bytes(std::size_t bytes) {
  WEIR_CHECK(bytes > 0 && bytes % kAlignment == 0);
  chunk_bytes_ = bytes;
}

void ReduceScatter::CheckOffsets(std::span<const std::size_t> offsets, std::size_t elements) const {
  if (offsets.size() == offsets_.size() && offsets.front() == 0 && offsets.back() == elements &&
      std::ranges::is_sorted(offsets)) {
    return;
  }
  throw InvalidArgument("a reduce-scatter of " + std::to_string(elements) + " elements over " +
                        std::to_string(transport_.size()) +
                        " ranks was given parts that do not follow one another");
}

void ReduceScatter::Bind(const ReduceTask& task, std::span<const std::size_t> offsets) {
  CheckReduction(task.dtype, task.reduction);
  CheckOffsets(offsets, task.elements);
  task_ = task;
  std::ranges::copy(offsets, offsets_.begin());
  const std::size_t needed = std::min(
      chunk_bytes_, (part_bytes(transport_.rank()) + kAlignment - 1) / kAlignment * kAlignment);
  if (needed > scratch_chunk_bytes_) {
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(kInFlight * peers_.size() * needed +
                                                           kAlignment);
    scratch_chunk_bytes_ = needed;
  }
}

std::size_t ReduceScatter::part_bytes(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return (offsets_[r + 1] - offsets_[r]) * SizeOf(task_.dtype);
}

std::size_t ReduceScatter::ChunkBytes(std::size_t chunk) const {
  return std::min(chunk_bytes_, part_bytes(transport_.rank()) - chunk * chunk_bytes_);
}

std::size_t ReduceScatter::reduced_bytes() const {
  return reduced_ == chunks_ ? part_bytes(transport_.rank()) : reduced_ * chunk_bytes_;
}

std::size_t ReduceScatter::sent_bytes(int rank) const {
  const int size = transport_.size();
  const int place = (rank - transport_.rank() - 1 + size) % size;
  return peers_[static_cast<std::size_t>(place)].pieces_to.completed();
}

std::byte* ReduceScatter::Scratch(std::size_t peer, std::size_t chunk) const {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch_.get());
  const std::size_t padding = (kAlignment - address % kAlignment) % kAlignment;
  return scratch_.get() + padding +
         (chunk % kInFlight * peers_.size() + peer) * scratch_chunk_bytes_;
}

void ReduceScatter::Start(std::uint32_t operation) {
  operation_ = operation;
  limit_ = kUnlimited;
  first_to_send_ = 0;
  chunks_ = (part_bytes(transport_.rank()) + chunk_bytes_ - 1) / chunk_bytes_;
  reduced_ = 0;
  for (std::size_t chunk = 0; chunk < std::min(chunks_, kInFlight); ++chunk) ReceivePieces(chunk);
  const std::size_t size = SizeOf(task_.dtype);
  for (Peer& peer : peers_) {
    const std::byte* part = task_.in + offsets_[static_cast<std::size_t>(peer.rank)] * size;
    peer.pieces_to.StartSend(peer.rank, operation_, {part, part_bytes(peer.rank)},
                             {.chunk_bytes = chunk_bytes_, .kind = kMessageKind});
  }
}

void ReduceScatter::ReceivePieces(std::size_t chunk) {
  const Tag tag{operation_, static_cast<std::uint32_t>(2 * chunk + kMessageKind)};
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].pieces_from[chunk % kInFlight].Receive(transport_, peers_[i].rank, tag,
                                                     {Scratch(i, chunk), ChunkBytes(chunk)});
  }
}

bool ReduceScatter::PiecesArrived() {
  const std::size_t bytes = ChunkBytes(reduced_);
  bool all = true;
  for (Peer& peer : peers_) {
    Pending& piece = peer.pieces_from[reduced_ % kInFlight];
    if (!piece.Done(transport_)) {
      all = false;
    } else if (piece.bytes() != bytes) {
      throw Corrupt("rank " + std::to_string(transport_.JobRank(peer.rank)) + " sent " +
                        std::to_string(piece.bytes()) + " bytes to a reduction where " +
                        std::to_string(bytes) + " belong",
                    {.tensor = {}, .ranks = {transport_.JobRank(peer.rank)}, .phase = "exchange"});
    }
  }
  return all;
}

void ReduceScatter::ReduceChunk() {
  const std::size_t size = SizeOf(task_.dtype);
  const std::size_t offset = reduced_ * chunk_bytes_;
  const auto self = static_cast<std::size_t>(transport_.rank());
  sources_[self] = task_.in + offsets_[self] * size + offset;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    sources_[static_cast<std::size_t>(peers_[i].rank)] = Scratch(i, reduced_);
  }
  Reduce(task_.dtype, task_.reduction, sources_, ChunkBytes(reduced_) / size, task_.out + offset);
  ++reduced_;
}

bool ReduceScatter::ReduceNext() {
  if (reduced_ == chunks_ || !PiecesArrived()) return false;
  ReduceChunk();
  if (reduced_ + kInFlight - 1 < chunks_) ReceivePieces(reduced_ + kInFlight - 1);
  return true;
}

bool ReduceScatter::Poll() {
  while (ReduceNext()) {
  }
  return PollSends();
}

bool ReduceScatter::PollSends() {
  bool done = reduced_ == chunks_;
  std::size_t credit = CreditBehind(posted_bytes());
  const std::size_t first = first_to_send_;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const std::size_t peer = (first + i) % peers_.size();
    const std::size_t before = credit;
    done &= peers_[peer].pieces_to.Poll(transport_, ChunkStream::kEverything, &credit);
    if (credit != before) first_to_send_ = (peer + 1) % peers_.size();
  }
  return done;
}

std::size_t ReduceScatter::posted_bytes() const {
  std::size_t bytes = 0;
  for (const Peer& peer : peers_) bytes += peer.pieces_to.posted_bytes();
  return bytes;
}

void ReduceScatter::Cancel() {
  for (Peer& peer : peers_) {
    peer.pieces_to.Cancel(transport_);
    for (Pending& piece : peer.pieces_from) piece.Cancel(transport_);
  }
  reduced_ = chunks_ = 0;
}

}  // namespace weir
