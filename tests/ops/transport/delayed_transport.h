#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/ops/transport/forwarding_transport.h"

namespace weir {

/// A switched full-duplex network between the ranks of one process, as a clock: it tells when a
/// message would arrive, and carries nothing.
///
/// Each rank has one wire in each direction. A message occupies its sender's outgoing wire, then
/// its receiver's incoming wire, each for bytes / bytes_per_second and overlapping (cut-through),
/// and arrives `latency` later, plus up to `jitter`. Thread-safe.
class VirtualNetwork {
 public:
  using Clock = std::chrono::steady_clock;
  struct Link {
    double bytes_per_second = 12.5e6;  ///< 100 Mb/s
    std::chrono::nanoseconds latency{0};
    /// Extra time of a message at most, drawn by its sender from `seed`.
    std::chrono::nanoseconds jitter{0};
    std::uint32_t seed = 0;
  };

  VirtualNetwork(int ranks, Link link);
  ~VirtualNetwork();

  /// Puts a message on the sender's wire. Returns when its last byte leaves.
  Clock::time_point Send(int from, int to, Tag tag, std::size_t bytes);
  /// Takes the oldest such message from the receiver's wire. Returns when its last byte arrives.
  Clock::time_point Receive(int from, int to, Tag tag);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Another transport, slowed down to a VirtualNetwork that all ranks share:
/// requests complete when the network says so and not before. Data may reach the
/// receiver's buffer earlier. For measuring overlap on one machine; works with
/// ranks that are threads of one process.
class DelayedTransport final : public ForwardingTransport {
 public:
  DelayedTransport(std::unique_ptr<Transport> inner, std::shared_ptr<VirtualNetwork> network);

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override;
  std::optional<std::size_t> Test(Request request) override;
  void Cancel(Request request) override;
  std::int64_t next_due_ns() const override;

 private:
  struct Slot {
    Request inner = 0;
    int peer = -1;
    Tag tag;
    bool sending = false;
    std::optional<std::size_t> bytes;  ///< Once the inner request has completed; none when free.
    VirtualNetwork::Clock::time_point due;
  };
  Request TakeSlot(const Slot& slot);
  void FreeSlot(Request request);

  std::shared_ptr<VirtualNetwork> network_;
  std::vector<Slot> slots_;
  std::vector<Request> free_;
};

}  // namespace weir
