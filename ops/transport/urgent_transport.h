#pragma once

#include "ops/transport/transport.h"

namespace weir {

/// A network, all messages on which are urgent: for what few bytes decide, and others wait for. The
/// network must outlive it.
class UrgentTransport final : public Transport {
 public:
  explicit UrgentTransport(Transport& network) : network_(network) {}

  int rank() const override { return network_.rank(); }
  int size() const override { return network_.size(); }
  int JobRank(int peer) const override { return network_.JobRank(peer); }
  std::uint32_t operation_numbers() const override { return network_.operation_numbers(); }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    return network_.Send(peer, Urgent(tag), data);
  }
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override {
    return network_.Receive(peer, Urgent(tag), buffer);
  }
  std::optional<std::size_t> Test(Request request) override { return network_.Test(request); }
  void Cancel(Request request) override { network_.Cancel(request); }
  std::int64_t next_due_ns() const override { return network_.next_due_ns(); }
  NetworkTotals totals() const override { return network_.totals(); }
  std::uint64_t movements() const override { return network_.movements(); }

 private:
  static Tag Urgent(Tag tag) {
    tag.urgent = true;
    return tag;
  }

  Transport& network_;
};

}  // namespace weir
