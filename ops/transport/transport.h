#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "weir/network_totals.h"

namespace weir {

/// Names one message between two ranks. `operation` is the number of the collective operation, the
/// same on all ranks; `chunk` the message inside it. Messages between the same two ranks with the
/// same tag arrive in the order in which they were sent. Chunks are numbered by their place in the
/// data, never by a slot that happens to be free. Urgent messages overtake the others, where the
/// backend can make them; that is no part of the name, and both ends have to say it.
struct Tag {
  std::uint32_t operation = 0;
  std::uint32_t chunk = 0;
  bool urgent = false;
};

/// Point-to-point messages between the ranks of one group: the interface of a backend (ops/mpi,
/// ops/local). Every collective operation is built on it, once (ops/collectives/collective.h).
///
/// Nothing here ever blocks. Not thread-safe: one thread, the one that owns the network, makes
/// all calls of a rank; but rank and size never change, and any thread may ask for them.
/// Errors: `Corrupt` when a message is longer than its receiver allows, `PeerLost` when the
/// backend itself learns of a death.
class Transport {
 public:
  /// A message under way. Valid from Send/Receive until Cancel, or the Test
  /// that returns a value or throws.
  using Request = std::uint32_t;

  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Rank in the whole job of a rank of this group, for messages to people.
  virtual int JobRank(int peer) const { return peer; }

  /// Tag::operation may be any number below this one.
  virtual std::uint32_t operation_numbers() const = 0;

  /// Starts sending to a peer, which may be this rank itself. `data` must not change
  /// until the request has completed.
  virtual Request Send(int peer, Tag tag, std::span<const std::byte> data) = 0;

  /// Starts receiving a message of at most `buffer.size()` bytes.
  virtual Request Receive(int peer, Tag tag, std::span<std::byte> buffer) = 0;

  /// Makes progress. Returns the message's length in bytes once it has completed, and forgets it.
  virtual std::optional<std::size_t> Test(Request request) = 0;

  /// Abandons a request after a failure; its buffer is not touched once this returns.
  virtual void Cancel(Request request) = 0;

  /// Makes `wake` be called whenever a message for this rank arrives or one of its sends completes,
  /// so that a sleeping network thread may poll at once. Returns false when the backend cannot
  /// tell, and the caller has to poll. `wake` runs on another rank's thread, must be quick and must
  /// not call the transport; it is not called any more once SetWake(nullptr) has returned.
  virtual bool SetWake(std::function<void()> wake) {
    static_cast<void>(wake);
    return false;
  }

  /// For a backend that wakes: time (CLOCK_MONOTONIC) at which a message completes without waking
  /// anybody, because time alone completes it. 0: none does.
  virtual std::int64_t next_due_ns() const { return 0; }

  /// Leaves the network, so that any thread may destroy the object. Afterwards only rank, size and
  /// totals may be called, from any thread. Idempotent.
  virtual void Close() {}

  /// Name and version of what carries the messages, for people: "UCX 1.20.1". Thread-safe.
  virtual std::string Describe() const { return {}; }

  /// Totals of completed messages. Cancelled ones do not count.
  virtual NetworkTotals totals() const = 0;

  /// A number that grows when something moves: with each message, and where a backend can tell with
  /// each part of one, for who has to decide whether to go on polling.
  virtual std::uint64_t movements() const {
    const NetworkTotals now = totals();
    return now.sent_messages + now.received_messages;
  }
};

}  // namespace weir
