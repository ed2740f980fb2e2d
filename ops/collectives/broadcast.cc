#include "ops/collectives/broadcast.h"

#include <algorithm>
#include <string>

#include "weir/error.h"

namespace weir {

Broadcast::Broadcast(Transport& transport) : transport_(transport) {}

void Broadcast::Bind(std::span<std::byte> data, int root) {
  if (root < 0 || root >= transport_.size()) {
    throw InvalidArgument("a broadcast from root rank " + std::to_string(root) +
                          " is impossible: ranks are 0 to " +
                          std::to_string(transport_.size() - 1));
  }
  data_ = data;
  FindTreePosition(transport_.rank(), transport_.size(), root, position_);
  to_children_.resize(std::max(to_children_.size(), position_.children.size()));
}

void Broadcast::Start(std::uint32_t operation) {
  if (position_.parent >= 0) from_parent_.StartReceive(position_.parent, operation, data_, {});
  for (std::size_t i = 0; i < position_.children.size(); ++i) {
    to_children_[i].StartSend(position_.children[i], operation, data_, {});
  }
}

bool Broadcast::Poll() {
  bool done = true;
  std::size_t ready = data_.size();
  if (position_.parent >= 0) {
    done = from_parent_.Poll(transport_);
    ready = from_parent_.completed();
  }
  for (std::size_t i = 0; i < position_.children.size(); ++i) {
    done &= to_children_[i].Poll(transport_, ready);
  }
  return done;
}

void Broadcast::Cancel() {
  from_parent_.Cancel(transport_);
  for (ChunkStream& child : to_children_) child.Cancel(transport_);
}

}  // namespace weir
