#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace weir {

/// The place where the ranks of a job find each other before they have a network: each brings the
/// address that others can reach it by, and gets those of all.
class Rendezvous {
 public:
  struct Meeting {
    int rank = 0;                        ///< Of this process.
    std::vector<std::string> addresses;  ///< By rank, this one's included; any bytes.
  };

  virtual ~Rendezvous() = default;

  /// Waits until all ranks have come. The next call begins another meeting, also of all ranks.
  /// `address` has 1 to 4096 bytes. Throws TimedOut after `timeout`, and PeerLost when a rank can
  /// not come any more. Not thread-safe.
  virtual Meeting Meet(const std::string& address, std::chrono::milliseconds timeout) = 0;
};

}  // namespace weir
