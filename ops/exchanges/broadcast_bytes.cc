#include "ops/exchanges/broadcast_bytes.h"

#include <string>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

namespace {
constexpr std::size_t kMostBroadcastBytes = std::size_t{1} << 30;
}

BroadcastBytes::BroadcastBytes(Transport& transport, std::size_t max_bytes)
    : transport_(transport),
      max_bytes_(max_bytes),
      scratch_(transport.rank() == 0 ? nullptr
                                     : std::make_unique_for_overwrite<std::byte[]>(max_bytes)) {
  WEIR_CHECK(max_bytes <= kMostBroadcastBytes);
  FindTreePosition(transport.rank(), transport.size(), 0, position_);
  to_children_.resize(position_.children.size());
}

void BroadcastBytes::Bind(std::span<const std::byte> message) {
  if (transport_.rank() == 0 && message.size() > max_bytes_) {
    throw InvalidArgument("a message of " + std::to_string(message.size()) +
                          " bytes is longer than the agreed bound of " +
                          std::to_string(max_bytes_));
  }
  bound_ = message;
}

void BroadcastBytes::SendToChildren() {
  for (std::size_t i = 0; i < to_children_.size(); ++i) {
    to_children_[i].Send(transport_, position_.children[i], {operation_, 0}, message_);
  }
  forwarded_ = true;
}

void BroadcastBytes::Start(std::uint32_t operation) {
  operation_ = operation;
  if (position_.parent >= 0) {
    forwarded_ = false;
    from_parent_.Receive(transport_, position_.parent, {operation, 0},
                         {scratch_.get(), max_bytes_});
  } else {
    message_ = bound_;
    SendToChildren();
  }
}

bool BroadcastBytes::Poll() {
  if (!forwarded_) {
    if (!from_parent_.Done(transport_)) return false;
    message_ = {scratch_.get(), from_parent_.bytes()};
    SendToChildren();
  }
  bool done = true;
  for (Pending& child : to_children_) done &= child.Done(transport_);
  return done;
}

void BroadcastBytes::Cancel() {
  from_parent_.Cancel(transport_);
  for (Pending& child : to_children_) child.Cancel(transport_);
  forwarded_ = true;
}

}  // namespace weir
