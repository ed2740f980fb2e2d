#include "benchmarks/virtual_network.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "common/check.h"
#include "weir/error.h"

namespace weir::bench {

class VirtualNetwork::Endpoint final : public Transport {
 public:
  Endpoint(VirtualNetwork& network, int rank) : network_(network), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(network_.ranks_.size()); }
  std::uint32_t operation_numbers() const override {
    return std::numeric_limits<std::uint32_t>::max();
  }

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    clock_ns_ += network_.costs_.work_ns;
    const auto moving =
        static_cast<std::int64_t>(static_cast<double>(data.size()) / network_.costs_.bytes_per_ns);
    // A rank's link carries one message after the other.
    link_ns_ = std::max(link_ns_, clock_ns_) + moving;
    const std::int64_t arrives_ns = link_ns_ + network_.costs_.message_ns;
    Endpoint& other = *network_.ranks_[static_cast<std::size_t>(peer)];
    other.arriving_[{rank_, tag.operation, tag.chunk}].push_back(
        {arrives_ns, {data.begin(), data.end()}});
    network_.WakeAt(peer, arrives_ns);
    ++totals_.sent_messages;
    totals_.sent_bytes += data.size();
    return Note({.is_send = true, .bytes = data.size()});
  }

  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override {
    return Note({.from = {peer, tag.operation, tag.chunk}, .buffer = buffer});
  }

  std::optional<std::size_t> Test(Request request) override {
    const auto found = pending_.find(request);
    WEIR_CHECK(found != pending_.end());
    const Pending pending = found->second;
    if (pending.is_send) {
      pending_.erase(found);
      return pending.bytes;
    }
    const auto queue = arriving_.find(pending.from);
    if (queue == arriving_.end() || queue->second.front().first > clock_ns_) return std::nullopt;
    const std::vector<std::byte> data = std::move(queue->second.front().second);
    queue->second.pop_front();
    if (queue->second.empty()) arriving_.erase(queue);
    pending_.erase(found);
    if (data.size() > pending.buffer.size()) throw Corrupt("a message is longer than allowed");
    std::ranges::copy(data, pending.buffer.begin());
    clock_ns_ += network_.costs_.work_ns;
    ++totals_.received_messages;
    totals_.received_bytes += data.size();
    return data.size();
  }

  void Cancel(Request request) override { pending_.erase(request); }
  NetworkTotals totals() const override { return totals_; }

  std::int64_t clock_ns() const { return clock_ns_; }
  void AdvanceTo(std::int64_t time_ns) { clock_ns_ = std::max(clock_ns_, time_ns); }

 private:
  struct From {
    int peer = 0;
    std::uint32_t operation = 0;
    std::uint32_t chunk = 0;
    auto operator<=>(const From&) const = default;
  };
  struct Pending {
    bool is_send = false;
    std::size_t bytes = 0;
    From from{};
    std::span<std::byte> buffer{};
  };
  Request Note(const Pending& pending) {
    pending_.emplace(++last_, pending);
    return last_;
  }

  VirtualNetwork& network_;
  const int rank_;
  std::int64_t clock_ns_ = 0;
  std::int64_t link_ns_ = 0;
  NetworkTotals totals_;
  Request last_ = 0;
  std::map<Request, Pending> pending_;
  std::map<From, std::deque<std::pair<std::int64_t, std::vector<std::byte>>>> arriving_;
};

VirtualNetwork::VirtualNetwork(int ranks, const Costs& costs) : costs_(costs) {
  for (int rank = 0; rank < ranks; ++rank) {
    ranks_.push_back(std::make_unique<Endpoint>(*this, rank));
  }
}

VirtualNetwork::~VirtualNetwork() = default;

Transport& VirtualNetwork::operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

int VirtualNetwork::Next(std::int64_t& now_ns) {
  if (events_.empty()) return -1;
  const auto [time_ns, rank] = events_.top();
  events_.pop();
  Endpoint& one = *ranks_[static_cast<std::size_t>(rank)];
  one.AdvanceTo(time_ns);
  now_ns = one.clock_ns();
  return rank;
}

std::int64_t VirtualNetwork::now_ns(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)]->clock_ns();
}

NetworkTotals VirtualNetwork::totals(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)]->totals();
}

}  // namespace weir::bench
