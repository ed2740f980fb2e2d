#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "common/supervision/supervision.h"
#include "common/unique_fd.h"

namespace weir {

/// A rank's connection to the job's hub (hub_server.h), on a thread of its own: carries the
/// messages of a SupervisorMembership there and back, as a supervisor does in a job of weirrun.
class HubLink {
 public:
  struct Options {
    std::string host;  ///< Of the hub: a name or an address.
    std::uint16_t port = 0;
    std::string token;
    int rank = 0;
    std::string own_host;  ///< For people.
    /// For the hub to come up. It has a deadline for the ranks, which should come first.
    std::chrono::milliseconds timeout{30000};
  };

  /// `engine` is a connected Unix packet socket. Whoever holds the other end is told, by a kAbort,
  /// why the hub cannot be reached.
  HubLink(Options options, UniqueFd engine);
  /// Sends what the engine has sent. Call it once the other end is closed.
  ~HubLink() = default;
  HubLink(const HubLink&) = delete;
  HubLink& operator=(const HubLink&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace weir
