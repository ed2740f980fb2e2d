#include "ops/collectives/direct_allgather.h"

namespace weir {

DirectAllgather::DirectAllgather(Transport& transport)
    : transport_(transport),
      sends_(static_cast<std::size_t>(transport.size())),
      receives_(static_cast<std::size_t>(transport.size())) {}

void DirectAllgather::Start(std::uint32_t operation) {
  const int size = transport_.size();
  const int self = transport_.rank();
  for (int step = 1; step < size; ++step) {
    const int peer = (self + step) % size;
    const auto p = static_cast<std::size_t>(peer);
    sends_[p].StartSend(peer, operation, task_.in, {});
    receives_[p].StartReceive(peer, operation, task_.PartOf(peer), {});
  }
  task_.CopyOwn(self);
}

bool DirectAllgather::Poll() {
  bool done = true;
  for (ChunkStream& receive : receives_) done &= receive.Poll(transport_);
  for (ChunkStream& send : sends_) done &= send.Poll(transport_);
  return done;
}

void DirectAllgather::Cancel() {
  for (ChunkStream& receive : receives_) receive.Cancel(transport_);
  for (ChunkStream& send : sends_) send.Cancel(transport_);
}

}  // namespace weir
