#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/servers/summation_server.h"
#include "ops/transport/subset_transport.h"

namespace weir {

/// A rank's connections to the summation servers of its job: dedicated ranks
/// (Settings::servers), or, for asynchronous groups without those, all ranks, this one too.
/// Network thread only, except const members.
class ServerLinks {
 public:
  /// `network` has the workers, followed by `servers` ranks that serve.
  /// `wake` as for SummationServer.
  ServerLinks(Transport& network, int servers, std::function<void()> wake);

  /// Number of such a network's lanes that are kept for servers, its last ones.
  static std::uint32_t Lanes(const Transport& network);
  /// Returns these lanes as one.
  static std::unique_ptr<SubsetTransport> Lane(Transport& network);

  // The next members may be called by any thread.

  Transport& lane() const { return *lane_; }
  /// Ranks of the lane, by number of the server.
  const std::vector<int>& servers() const { return servers_; }
  bool dedicated() const { return dedicated_; }

  /// Returns the first of so many numbers for a group's buckets, the same on all ranks if they ask
  /// in the same order; nothing when there are no more. A number is used once.
  std::optional<std::uint32_t> TakeNumbers(std::size_t count);
  /// Tells the servers something about a group (coordinator/servers/group_description.h).
  void Tell(std::vector<std::byte> message);
  /// Starts serving, if servers are ranks like this one.
  void Serve();
  /// Tells dedicated servers, once, that nothing more comes from this rank.
  void TakeLeave();
  /// True if no worker's push here waits for its answer.
  bool answered_all() const { return !server_ || server_->answered_all(); }
  /// True if the network may have something for it.
  bool waits() const { return server_ != nullptr || !all_told(); }
  /// True when something moved. Throws as SummationServer::Poll does.
  bool Poll();
  /// True if all messages of Tell have been sent.
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
