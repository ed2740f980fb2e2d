#pragma once

#include <cstdint>
#include <vector>

#include "ops/transport/transport.h"

namespace weir {

/// Some ranks of a network as a network of their own, in which they are numbered from 0. The
/// network must outlive it and is used from the same thread.
///
/// A process set keeps its operation numbers apart from other sets' by a lane: a range of numbers
/// that belongs to one set at a time, the same on all its ranks. An operation of the network that
/// consists of exchanges among some of its ranks gives them its own number, and no lane.
class SubsetTransport final : public Transport {
 public:
  /// Numbers of operations in a lane. Lane 0 is the whole network's own.
  static constexpr std::uint32_t kLaneNumbers = 1024;
  /// Number of sets that this network can tell apart, besides the whole network.
  static std::uint32_t Lanes(const Transport& network);

  /// `ranks` of the network, ascending; this rank must be one of them. `lanes` lanes in a row form
  /// one with so many times the numbers.
  SubsetTransport(Transport& network, std::vector<int> ranks, std::uint32_t lane,
                  std::uint32_t lanes = 1);
  /// Makes one without a lane.
  SubsetTransport(Transport& network, std::vector<int> ranks);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }
  int JobRank(int peer) const override { return network_.JobRank(RankOf(peer)); }
  std::uint32_t operation_numbers() const override { return numbers_; }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override;
  std::optional<std::size_t> Test(Request request) override { return network_.Test(request); }
  void Cancel(Request request) override { network_.Cancel(request); }
  std::int64_t next_due_ns() const override { return network_.next_due_ns(); }
  /// Totals of the whole network.
  NetworkTotals totals() const override { return network_.totals(); }
  std::uint64_t movements() const override { return network_.movements(); }

 private:
  struct Numbers {
    std::uint32_t first;
    std::uint32_t count;
  };
  SubsetTransport(Transport& network, std::vector<int> ranks, Numbers numbers);
  /// Returns the peer's rank in the network.
  int RankOf(int peer) const { return ranks_[static_cast<std::size_t>(peer)]; }
  Tag InLane(Tag tag) const;

  Transport& network_;
  const std::vector<int> ranks_;
  const std::uint32_t first_number_;
  const std::uint32_t numbers_;
  int rank_ = -1;
};

}  // namespace weir
