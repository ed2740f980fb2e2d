#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "ops/transport.h"

namespace weir {

/// A network as one of its users sees it: counts the bytes that this user has sent. The network and
/// the counter must outlive it; the counter may be read by any thread.
class CountedTransport final : public Transport {
 public:
  CountedTransport(Transport& network, std::atomic<std::uint64_t>& sent_bytes)
      : network_(network), sent_bytes_(sent_bytes) {}

  int rank() const override { return network_.rank(); }
  int size() const override { return network_.size(); }
  int JobRank(int peer) const override { return network_.JobRank(peer); }
  std::uint32_t operation_numbers() const override { return network_.operation_numbers(); }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override {
    return network_.Receive(peer, tag, buffer);
  }
  std::optional<std::size_t> Test(Request request) override;
  void Cancel(Request request) override;
  std::int64_t next_due_ns() const override { return network_.next_due_ns(); }
  /// Of the whole network.
  NetworkTotals totals() const override { return network_.totals(); }

 private:
  Transport& network_;
  std::atomic<std::uint64_t>& sent_bytes_;
  std::vector<Request> sends_;  ///< Under way, a few.
};

}  // namespace weir
