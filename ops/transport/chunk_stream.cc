#include "ops/transport/chunk_stream.h"

#include <algorithm>
#include <string>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

void ChunkStream::Start(int peer, std::uint32_t operation, std::size_t bytes, Options options) {
  WEIR_CHECK(posted_ == done_);
  options_ = options;
  peer_ = peer;
  operation_ = operation;
  bytes_ = bytes;
  chunks_ = (bytes + options.chunk_bytes - 1) / options.chunk_bytes;
  posted_ = 0;
  done_ = 0;
}

void ChunkStream::StartSend(int peer, std::uint32_t operation, std::span<const std::byte> data,
                            Options options) {
  Start(peer, operation, data.size(), options);
  source_ = data.data();
  destination_ = nullptr;
}

void ChunkStream::StartReceive(int peer, std::uint32_t operation, std::span<std::byte> buffer,
                               Options options) {
  Start(peer, operation, buffer.size(), options);
  source_ = nullptr;
  destination_ = buffer.data();
}

std::size_t ChunkStream::EndOf(std::size_t chunk) const {
  return std::min(bytes_, (chunk + 1) * options_.chunk_bytes);
}

void ChunkStream::Post(Transport& transport, std::size_t chunk) {
  const std::size_t begin = chunk * options_.chunk_bytes;
  const std::size_t length = EndOf(chunk) - begin;
  const Tag tag{operation_, static_cast<std::uint32_t>(2 * chunk + options_.kind)};
  Pending& pending = in_flight_[chunk % kInFlight];
  if (source_ != nullptr) {
    pending.Send(transport, peer_, tag, {source_ + begin, length});
  } else {
    pending.Receive(transport, peer_, tag, {destination_ + begin, length});
  }
}

void ChunkStream::CheckLength(const Transport& transport, std::size_t chunk) const {
  if (source_ != nullptr) return;
  const std::size_t expected = EndOf(chunk) - chunk * options_.chunk_bytes;
  const std::size_t actual = in_flight_[chunk % kInFlight].bytes();
  if (actual == expected) return;
  throw Corrupt("rank " + std::to_string(transport.JobRank(peer_)) + " sent " +
                    std::to_string(actual) + " bytes where " + std::to_string(expected) +
                    " belong (chunk " + std::to_string(chunk) + " of " + std::to_string(chunks_) +
                    ")",
                {.tensor = {}, .ranks = {transport.JobRank(peer_)}, .phase = "exchange"});
}

bool ChunkStream::Poll(Transport& transport, std::size_t ready, std::size_t* credit) {
  while (true) {
    while (posted_ < chunks_ && posted_ < done_ + kInFlight && EndOf(posted_) <= ready) {
      const std::size_t bytes = EndOf(posted_) - PostedBytes();
      if (credit != nullptr && *credit < bytes) break;
      if (credit != nullptr) *credit -= bytes;
      Post(transport, posted_++);
    }
    if (done_ == posted_ || !in_flight_[done_ % kInFlight].Done(transport)) break;
    CheckLength(transport, done_++);
  }
  return done_ == chunks_;
}

void ChunkStream::Cancel(Transport& transport) {
  for (Pending& pending : in_flight_) pending.Cancel(transport);
  posted_ = done_ = chunks_ = bytes_ = 0;
}

}  // namespace weir
