#pragma once

#include <cstdint>
#include <vector>

#include "common/last_heard.h"
#include "common/link_bytes.h"
#include "ops/transport/transport.h"

namespace weir {

/// A network that counts its bytes by use and by link. Like every transport it
/// belongs to one thread, which announces the use of the messages that start next.
/// Messages count when they have completed, as in the network's own totals. The
/// network and the counters must outlive it.
class MeteredTransport final : public Transport {
 public:
  /// The counter of a message's bytes, and a second one if they are also part of a larger sum.
  struct Use {
    LinkBytes* bytes = nullptr;
    LinkBytes* also = nullptr;
  };

  /// `links` has the link to each peer. `first` is the use until Begin is called. `heard`,
  /// unless null, records arrivals.
  MeteredTransport(Transport& network, std::vector<Link> links, Use first,
                   LastHeard* heard = nullptr);

  /// Sets the use of messages that start from now on.
  void Begin(Use use) { use_ = use; }
  /// Counts bytes that were sent, and as many received, on another network, for the current use.
  void CountElsewhere(std::uint64_t bytes);

  int rank() const override { return network_.rank(); }
  int size() const override { return network_.size(); }
  int JobRank(int peer) const override { return network_.JobRank(peer); }
  std::uint32_t operation_numbers() const override { return network_.operation_numbers(); }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override;
  std::optional<std::size_t> Test(Request request) override;
  void Cancel(Request request) override;
  std::int64_t next_due_ns() const override { return network_.next_due_ns(); }
  NetworkTotals totals() const override { return network_.totals(); }
  std::string Describe() const override { return network_.Describe(); }
  std::uint64_t movements() const override { return network_.movements(); }
  /// The ranks of the job from whom messages are under way, or have not begun to come.
  std::vector<int> Awaited() const;
  /// Bytes sent to other hosts, as far as is known.
  std::uint64_t bytes_to_other_hosts() const { return bytes_to_other_hosts_; }

 private:
  struct Message {
    Use use;
    std::size_t link = 0;
    int peer = 0;
    bool sending = false;
    bool under_way = false;
  };
  Request Remember(Request request, int peer, bool sending);

  Transport& network_;
  const std::vector<Link> links_;
  Use use_;
  std::uint64_t bytes_to_other_hosts_ = 0;
  LastHeard* const heard_;
  std::vector<Message> messages_;  ///< By request, which are small numbers and used again.
};

}  // namespace weir
