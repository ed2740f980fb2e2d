#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/negotiation/request.h"

namespace weir {

/// Why the ranks' requests for one name cannot run together.
struct Disagreement {
  std::string text;  ///< Whole sentence: Horovod's stem, then tensor, ranks and both values.
  /// The first two ranks that differ, ascending. Only the first rank if its request is
  /// impossible, however many agree with it.
  std::vector<int> ranks;
};

/// Compares every rank's request under one name; requests[i] is rank ranks[i]'s. Pure.
std::optional<Disagreement> FindDisagreement(std::span<const Request> requests,
                                             std::span<const int> ranks);

}  // namespace weir
