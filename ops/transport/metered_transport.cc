#include "ops/transport/metered_transport.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/check.h"

namespace weir {

MeteredTransport::MeteredTransport(Transport& network, std::vector<Link> links, Use first,
                                   LastHeard* heard)
    : network_(network), links_(std::move(links)), use_(first), heard_(heard) {
  WEIR_CHECK(links_.size() == static_cast<std::size_t>(network.size()));
}

Transport::Request MeteredTransport::Send(int peer, Tag tag, std::span<const std::byte> data) {
  return Remember(network_.Send(peer, tag, data), peer, /*sending=*/true);
}

Transport::Request MeteredTransport::Receive(int peer, Tag tag, std::span<std::byte> buffer) {
  return Remember(network_.Receive(peer, tag, buffer), peer, /*sending=*/false);
}

Transport::Request MeteredTransport::Remember(Request request, int peer, bool sending) {
  if (messages_.size() <= request) messages_.resize(request + 1);
  const Link link = links_[static_cast<std::size_t>(peer)];
  messages_[request] = {.use = use_,
                        .link = static_cast<std::size_t>(link),
                        .peer = peer,
                        .sending = sending,
                        .under_way = true};
  return request;
}

// Their links are unknown: they count for the farthest one.
void MeteredTransport::CountElsewhere(std::uint64_t bytes) {
  const Link link = std::ranges::max(links_);
  for (LinkBytes* counter : {use_.bytes, use_.also}) {
    if (counter == nullptr) continue;
    for (auto* direction : {&counter->sent, &counter->received}) {
      (*direction)[static_cast<std::size_t>(link)].fetch_add(bytes, std::memory_order_relaxed);
    }
  }
}

std::optional<std::size_t> MeteredTransport::Test(Request request) {
  const std::optional<std::size_t> bytes = network_.Test(request);
  if (!bytes) return bytes;
  Message& message = messages_[request];
  message.under_way = false;
  if (!message.sending && heard_ != nullptr) heard_->Note(message.peer);
  if (message.sending && message.link != static_cast<std::size_t>(Link::kIntra)) {
    bytes_to_other_hosts_ += *bytes;
  }
  for (LinkBytes* counter : {message.use.bytes, message.use.also}) {
    if (counter == nullptr) continue;
    (message.sending ? counter->sent : counter->received)[message.link].fetch_add(
        *bytes, std::memory_order_relaxed);
  }
  return bytes;
}

void MeteredTransport::Cancel(Request request) {
  messages_[request].under_way = false;
  network_.Cancel(request);
}

std::vector<int> MeteredTransport::Awaited() const {
  std::set<int> ranks;
  for (const Message& message : messages_) {
    if (message.under_way && !message.sending) ranks.insert(JobRank(message.peer));
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace weir
