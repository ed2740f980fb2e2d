#include "ops/allgather.h"

#include <cstring>
#include <string>

#include "weir/error.h"

namespace weir {

Allgather::Allgather(Transport& transport)
    : transport_(transport),
      offsets_(static_cast<std::size_t>(transport.size()) + 1),
      sends_(static_cast<std::size_t>(transport.size())),
      receives_(static_cast<std::size_t>(transport.size())) {}

void Allgather::Bind(std::span<const std::byte> in, std::span<std::byte> out,
                     std::span<const std::size_t> bytes) {
  const auto ranks = static_cast<std::size_t>(transport_.size());
  const auto self = static_cast<std::size_t>(transport_.rank());
  if (bytes.size() != ranks) {
    throw InvalidArgument("an all-gather over " + std::to_string(ranks) + " ranks was given " +
                          std::to_string(bytes.size()) + " lengths; give one per rank");
  }
  for (std::size_t r = 0; r < ranks; ++r) offsets_[r + 1] = offsets_[r] + bytes[r];
  if (in.size() != bytes[self] || out.size() != offsets_[ranks]) {
    throw InvalidArgument("an all-gather of " + std::to_string(bytes[self]) + " bytes into " +
                          std::to_string(offsets_[ranks]) + " was given buffers of " +
                          std::to_string(in.size()) + " and " + std::to_string(out.size()));
  }
  in_ = in;
  out_ = out;
}

void Allgather::Start(std::uint32_t operation) {
  const int size = transport_.size();
  const int self = transport_.rank();
  for (int step = 1; step < size; ++step) {
    const int peer = (self + step) % size;
    const auto p = static_cast<std::size_t>(peer);
    sends_[p].StartSend(peer, operation, in_, {});
    receives_[p].StartReceive(peer, operation,
                              out_.subspan(offsets_[p], offsets_[p + 1] - offsets_[p]), {});
  }
  std::byte* own = out_.data() + offsets_[static_cast<std::size_t>(self)];
  if (own != in_.data() && !in_.empty()) std::memcpy(own, in_.data(), in_.size());
}

bool Allgather::Poll() {
  bool done = true;
  for (ChunkStream& receive : receives_) done &= receive.Poll(transport_);
  for (ChunkStream& send : sends_) done &= send.Poll(transport_);
  return done;
}

void Allgather::Cancel() {
  for (ChunkStream& receive : receives_) receive.Cancel(transport_);
  for (ChunkStream& send : sends_) send.Cancel(transport_);
}

}  // namespace weir
