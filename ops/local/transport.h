#pragma once

#include <memory>
#include <vector>

#include "ops/transport/transport.h"

namespace weir::local {

struct Mailbox;

/// The ranks of a job as threads of one process: used by jobs of one rank, tests and benchmarks.
///
/// A message crosses with one copy, made by the receiver's thread inside its Receive or Test; until
/// then the send is not complete. Endpoints keep the network alive.
class Network {
 public:
  explicit Network(int size);

  int size() const;
  /// Returns the transport of one rank. At most one at a time; one thread uses it.
  std::unique_ptr<Transport> Endpoint(int rank);

 private:
  std::shared_ptr<std::vector<Mailbox>> mailboxes_;
};

}  // namespace weir::local
