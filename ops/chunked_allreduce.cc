#include "ops/chunked_allreduce.h"

#include <algorithm>
#include <string>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

namespace {
constexpr std::uint32_t kPieces = 0;  // kinds of messages, see ChunkStream
constexpr std::uint32_t kResults = 1;
constexpr std::size_t kInFlight = ChunkStream::kInFlight;
constexpr std::size_t kAlignment = 64;
}  // namespace

ChunkedAllreduce::ChunkedAllreduce(Transport& transport, std::size_t chunk_bytes)
    : transport_(transport),
      chunk_bytes_(chunk_bytes),
      peers_(static_cast<std::size_t>(transport.size() - 1)),
      sources_(static_cast<std::size_t>(transport.size())) {
  WEIR_CHECK(chunk_bytes > 0 && chunk_bytes % kAlignment == 0);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].rank = (transport.rank() + 1 + static_cast<int>(i)) % transport.size();
  }
}

void ChunkedAllreduce::Bind(const ReduceTask& task) {
  task_ = task;
  const std::size_t part_bytes = PartOf(transport_.rank()).count * SizeOf(task.dtype);
  const std::size_t needed =
      std::min(chunk_bytes_, (part_bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (needed > scratch_chunk_bytes_) {
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(kInFlight * peers_.size() * needed +
                                                           kAlignment);
    scratch_chunk_bytes_ = needed;
  }
}

ChunkedAllreduce::Range ChunkedAllreduce::PartOf(int rank) const {
  // Parts start at multiples of 64 bytes from the start of the array.
  const std::size_t unit = kAlignment / SizeOf(task_.dtype);
  const auto ranks = static_cast<std::size_t>(transport_.size());
  const std::size_t units = (task_.elements + unit - 1) / unit;
  const std::size_t part = (units + ranks - 1) / ranks * unit;
  const std::size_t begin = std::min(task_.elements, static_cast<std::size_t>(rank) * part);
  return {begin, std::min(part, task_.elements - begin)};
}

ChunkedAllreduce::Range ChunkedAllreduce::OwnChunk(std::size_t chunk) const {
  const Range part = PartOf(transport_.rank());
  const std::size_t chunk_elements = chunk_bytes_ / SizeOf(task_.dtype);
  const std::size_t begin = chunk * chunk_elements;
  return {part.begin + begin, std::min(chunk_elements, part.count - begin)};
}

std::byte* ChunkedAllreduce::Scratch(std::size_t peer, std::size_t chunk) const {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch_.get());
  const std::size_t padding = (kAlignment - address % kAlignment) % kAlignment;
  return scratch_.get() + padding +
         (chunk % kInFlight * peers_.size() + peer) * scratch_chunk_bytes_;
}

void ChunkedAllreduce::StartStreams(Peer& peer) {
  const std::size_t size = SizeOf(task_.dtype);
  const Range theirs = PartOf(peer.rank);
  const Range mine = PartOf(transport_.rank());
  const ChunkStream::Options pieces{.chunk_bytes = chunk_bytes_, .kind = kPieces};
  const ChunkStream::Options results{.chunk_bytes = chunk_bytes_, .kind = kResults};
  peer.pieces_to.StartSend(peer.rank, operation_,
                           {task_.in + theirs.begin * size, theirs.count * size}, pieces);
  peer.results_from.StartReceive(peer.rank, operation_,
                                 {task_.out + theirs.begin * size, theirs.count * size}, results);
  peer.results_to.StartSend(peer.rank, operation_,
                            {task_.out + mine.begin * size, mine.count * size}, results);
}

void ChunkedAllreduce::Start(std::uint32_t operation) {
  operation_ = operation;
  const std::size_t part_bytes = PartOf(transport_.rank()).count * SizeOf(task_.dtype);
  chunks_ = (part_bytes + chunk_bytes_ - 1) / chunk_bytes_;
  reduced_ = 0;
  for (std::size_t chunk = 0; chunk < std::min(chunks_, kInFlight); ++chunk) ReceivePieces(chunk);
  for (Peer& peer : peers_) {
    StartStreams(peer);
    peer.pieces_to.Poll(transport_);
  }
}

void ChunkedAllreduce::ReceivePieces(std::size_t chunk) {
  const std::size_t bytes = OwnChunk(chunk).count * SizeOf(task_.dtype);
  const Tag tag{operation_, static_cast<std::uint32_t>(2 * chunk + kPieces)};
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].pieces_from[chunk % kInFlight].Receive(transport_, peers_[i].rank, tag,
                                                     {Scratch(i, chunk), bytes});
  }
}

bool ChunkedAllreduce::PiecesArrived() {
  const std::size_t bytes = OwnChunk(reduced_).count * SizeOf(task_.dtype);
  bool all = true;
  for (Peer& peer : peers_) {
    Pending& piece = peer.pieces_from[reduced_ % kInFlight];
    if (!piece.Done(transport_)) {
      all = false;
    } else if (piece.bytes() != bytes) {
      throw Corrupt("rank " + std::to_string(peer.rank) + " sent " + std::to_string(piece.bytes()) +
                        " bytes to an all-reduce where " + std::to_string(bytes) + " belong",
                    {.tensor = {}, .ranks = {peer.rank}, .phase = "exchange"});
    }
  }
  return all;
}

void ChunkedAllreduce::ReduceChunk() {
  const Range chunk = OwnChunk(reduced_);
  const std::size_t offset = chunk.begin * SizeOf(task_.dtype);
  sources_[static_cast<std::size_t>(transport_.rank())] = task_.in + offset;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    sources_[static_cast<std::size_t>(peers_[i].rank)] = Scratch(i, reduced_);
  }
  Reduce(task_.dtype, task_.reduction, sources_, chunk.count, task_.out + offset);
  ++reduced_;
}

bool ChunkedAllreduce::Poll() {
  if (reduced_ < chunks_ && PiecesArrived()) {
    ReduceChunk();
    if (reduced_ + kInFlight - 1 < chunks_) ReceivePieces(reduced_ + kInFlight - 1);
  }
  const std::size_t results_ready =
      reduced_ == chunks_ ? ChunkStream::kEverything : reduced_ * chunk_bytes_;
  const bool in_place = task_.in == task_.out;
  bool done = reduced_ == chunks_;
  for (Peer& peer : peers_) {
    done &= peer.results_to.Poll(transport_, results_ready);
    done &= peer.pieces_to.Poll(transport_);
    // In place, results arrive where pieces leave from.
    done &= peer.results_from.Poll(
        transport_, in_place ? peer.pieces_to.completed() : ChunkStream::kEverything);
  }
  return done;
}

void ChunkedAllreduce::Cancel() {
  for (Peer& peer : peers_) {
    peer.pieces_to.Cancel(transport_);
    peer.results_from.Cancel(transport_);
    peer.results_to.Cancel(transport_);
    for (Pending& piece : peer.pieces_from) piece.Cancel(transport_);
  }
  reduced_ = chunks_ = 0;
}

}  // namespace weir
