#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/servers/summation_server.h"
#include "ops/subset_transport.h"

namespace weir {

/// A rank's connections to the summation servers of its job: ranks of their own
/// (Settings::servers), or, for asynchronous groups without such, all ranks, this one too. Network
/// thread only, but for what is const.
class ServerLinks {
 public:
  /// `network` has the workers and behind them `servers` ranks that serve. `wake` as of
  /// SummationServer.
  ServerLinks(Transport& network, int servers, std::function<void()> wake);

  /// Lanes of such a network that are kept for servers, its last ones.
  static std::uint32_t Lanes(const Transport& network);
  /// Those as one.
  static std::unique_ptr<SubsetTransport> Lane(Transport& network);

  // Any thread.

  Transport& lane() const { return *lane_; }
  /// Ranks of the lane, by number of the server.
  const std::vector<int>& servers() const { return servers_; }
  bool dedicated() const { return dedicated_; }

  /// The first of so many numbers for a group's buckets, which are the same on all ranks if they
  /// ask in the same order; none when there are no more. A number is used once.
  std::optional<std::uint32_t> TakeNumbers(std::size_t count);
  /// Tells the servers something about a group (coordinator/servers/group_description.h).
  void Tell(std::vector<std::byte> message);
  /// Where servers are ranks like this one: it serves from now on.
  void Serve();
  /// Tells servers of their own, once, that nothing more comes from this rank.
  void TakeLeave();
  /// Nothing that a worker has pushed here waits for its answer.
  bool answered_all() const { return !server_ || server_->answered_all(); }
  /// The network may have something for it.
  bool waits() const { return server_ != nullptr || !all_told(); }
  /// True when something moved. Throws as SummationServer::Poll does.
  bool Poll();
  /// What was told has been sent.
  bool all_told() const { return told_.empty(); }
  void Cancel();

 private:
  struct Told {
    std::vector<std::byte> message;
    std::vector<Pending> sends;
  };

  const std::unique_ptr<SubsetTransport> lane_;
  const bool dedicated_;
  const std::function<void()> wake_;
  std::vector<int> servers_;
  std::list<Told> told_;
  bool has_left_ = false;
  std::uint32_t next_number_ = 0;
  std::unique_ptr<SummationServer> server_;
};

}  // namespace weir
