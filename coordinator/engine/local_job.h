#pragma once

#include <functional>
#include <memory>

#include "coordinator/engine/engine_impl.h"
#include "ops/local/membership.h"
#include "ops/local/transport.h"
#include "weir/engine.h"

namespace weir {

/// A job whose ranks are threads of this process: their network and their membership.
class LocalJob {
 public:
  /// May put something between a rank and its network, such as a slow link.
  /// Called on the rank's network thread.
  using Between =
      std::function<std::unique_ptr<Transport>(int rank, std::unique_ptr<Transport> direct)>;

  /// The last `servers` of the ranks are summation servers.
  explicit LocalJob(int ranks, Between between = nullptr, int servers = 0);

  /// Tells so many ranks in a row from now on that they share a host.
  void SetRanksPerHost(int ranks) { ranks_per_host_ = ranks; }

  int size() const { return network_.size() - servers_; }
  /// For tests that break the job.
  local::MembershipHub& hub() { return hub_; }

  /// Environment for an engine of that rank, which the job must outlive; one engine at a time.
  EngineEnvironment Environment(int rank);

  /// Like RunLocal, with the ranks and servers of this job.
  void Run(const std::function<void(Engine&)>& body, const Settings& settings = {});

 private:
  local::Network network_;
  local::MembershipHub hub_;
  const Between between_;
  const int servers_;
  int ranks_per_host_;
};

}  // namespace weir
