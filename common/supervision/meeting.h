#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/supervision/supervision.h"

namespace weir::supervision {

/// Collects the addresses of the ranks' networks until all have come. Then the next meeting begins:
/// a program may end an engine and make another. Does no input or output. Not thread-safe.
class Meeting {
 public:
  explicit Meeting(std::size_t ranks) : addresses_(ranks) {}

  using Send = std::function<void(int rank, const Message&)>;

  /// Takes the address, in place of one that the rank brought before; one that is empty or too long
  /// counts as none. Sends the addresses of all to every rank once all have come.
  void Bring(int rank, const std::string& address, const Send& send);
  /// Forgets a rank that no longer waits for the others.
  void Leave(int rank) { addresses_[static_cast<std::size_t>(rank)].clear(); }

 private:
  std::vector<std::string> addresses_;  ///< By rank; empty: has not come.
};

}  // namespace weir::supervision
