#include "ops/exchanges/gather_to_root.h"

#include <string>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

namespace {
constexpr std::size_t kMostGatheredBytes = std::size_t{1} << 30;

std::size_t Receives(const Transport& transport) {
  return transport.rank() == 0 ? static_cast<std::size_t>(transport.size() - 1) : 0;
}
}  // namespace

GatherToRoot::GatherToRoot(Transport& transport, std::size_t max_bytes)
    : transport_(transport),
      max_bytes_(max_bytes),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(Receives(transport) * max_bytes)),
      messages_(transport.rank() == 0 ? static_cast<std::size_t>(transport.size()) : 0),
      receives_(Receives(transport)) {
  WEIR_CHECK(max_bytes <= kMostGatheredBytes);
}

void GatherToRoot::Bind(std::span<const std::byte> message) {
  if (message.size() > max_bytes_) {
    throw InvalidArgument("a message of " + std::to_string(message.size()) +
                          " bytes is longer than the agreed bound of " +
                          std::to_string(max_bytes_));
  }
  message_ = message;
}

std::byte* GatherToRoot::Slot(std::size_t receive) { return scratch_.get() + receive * max_bytes_; }

void GatherToRoot::Start(std::uint32_t operation) {
  if (transport_.rank() != 0) {
    send_.Send(transport_, 0, {operation, 0}, message_);
    return;
  }
  messages_[0] = message_;
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    receives_[i].Receive(transport_, static_cast<int>(i) + 1, {operation, 0},
                         {Slot(i), max_bytes_});
  }
}

bool GatherToRoot::Poll() {
  bool done = send_.Done(transport_);
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    if (receives_[i].Done(transport_)) {
      messages_[i + 1] = {Slot(i), receives_[i].bytes()};
    } else {
      done = false;
    }
  }
  return done;
}

void GatherToRoot::Cancel() {
  send_.Cancel(transport_);
  for (Pending& receive : receives_) receive.Cancel(transport_);
}

}  // namespace weir
