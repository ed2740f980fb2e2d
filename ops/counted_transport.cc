#include "ops/counted_transport.h"

namespace weir {

Transport::Request CountedTransport::Send(int peer, Tag tag, std::span<const std::byte> data) {
  const Request request = network_.Send(peer, tag, data);
  sends_.push_back(request);
  return request;
}

// When a message has completed, as the network's own totals count it: so what this user has sent is
// never more than they say.
std::optional<std::size_t> CountedTransport::Test(Request request) {
  const std::optional<std::size_t> bytes = network_.Test(request);
  if (bytes && std::erase(sends_, request) > 0) {
    sent_bytes_.fetch_add(*bytes, std::memory_order_relaxed);
  }
  return bytes;
}

void CountedTransport::Cancel(Request request) {
  std::erase(sends_, request);
  network_.Cancel(request);
}

}  // namespace weir
