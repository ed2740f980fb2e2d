#include "ops/collectives/chunked_allreduce.h"

namespace weir {

namespace {
constexpr std::uint32_t kResults = 1 - ReduceScatter::kMessageKind;  // see ChunkStream
}  // namespace

ChunkedAllreduce::ChunkedAllreduce(Transport& transport)
    : transport_(transport),
      reduce_(transport),
      offsets_(static_cast<std::size_t>(transport.size()) + 1),
      peers_(static_cast<std::size_t>(transport.size() - 1)) {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].rank = (transport.rank() + 1 + static_cast<int>(i)) % transport.size();
  }
}

void ChunkedAllreduce::Bind(const ReduceTask& task) {
  task_ = task;
  AlignedParts(task.elements, task.dtype, offsets_);
  ReduceTask reduction = task;
  reduction.out = PartOf(transport_.rank()).data();
  reduce_.Bind(reduction, offsets_);
}

std::span<std::byte> ChunkedAllreduce::PartOf(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t size = SizeOf(task_.dtype);
  return {task_.out + offsets_[r] * size, (offsets_[r + 1] - offsets_[r]) * size};
}

void ChunkedAllreduce::Start(std::uint32_t operation) {
  first_to_send_ = 0;
  reduce_.Start(operation);
  const ChunkStream::Options results{.chunk_bytes = reduce_.chunk_bytes(), .kind = kResults};
  for (Peer& peer : peers_) {
    peer.results_from.StartReceive(peer.rank, operation, PartOf(peer.rank), results);
    peer.results_to.StartSend(peer.rank, operation, PartOf(transport_.rank()), results);
  }
}

bool ChunkedAllreduce::Poll() {
  while (reduce_.ReduceNext()) PollResults();
  return PollResults();
}

bool ChunkedAllreduce::PollResults() {
  bool done = reduce_.PollSends();
  const bool in_place = task_.in == task_.out;
  std::size_t credit = reduce_.CreditBehind(posted_bytes());
  const std::size_t first = first_to_send_;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const std::size_t index = (first + i) % peers_.size();
    Peer& peer = peers_[index];
    const std::size_t before = credit;
    done &= peer.results_to.Poll(transport_, reduce_.reduced_bytes(), &credit);
    if (credit != before) first_to_send_ = (index + 1) % peers_.size();
    // In place, results arrive at the memory that pieces leave from.
    done &= peer.results_from.Poll(
        transport_, in_place ? reduce_.sent_bytes(peer.rank) : ChunkStream::kEverything);
  }
  return done;
}

std::size_t ChunkedAllreduce::posted_bytes() const {
  std::size_t bytes = reduce_.posted_bytes();
  for (const Peer& peer : peers_) bytes += peer.results_to.posted_bytes();
  return bytes;
}

void ChunkedAllreduce::Cancel() {
  reduce_.Cancel();
  for (Peer& peer : peers_) {
    peer.results_from.Cancel(transport_);
    peer.results_to.Cancel(transport_);
  }
}

}  // namespace weir
