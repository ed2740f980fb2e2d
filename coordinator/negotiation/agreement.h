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
  /// The first two ranks that differ, ascending; the first rank alone if it asked for what cannot
  /// be done, however many agree with it.
  std::vector<int> ranks;
};

/// Compares what every rank asked for under one name; requests[i] is rank ranks[i]'s. Pure.
std::optional<Disagreement> FindDisagreement(std::span<const Request> requests,
                                             std::span<const int> ranks);

}  // namespace weir
