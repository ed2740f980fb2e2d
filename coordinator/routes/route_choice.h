#pragma once

#include "compression/options/policy.h"
#include "coordinator/routes/routes.h"

namespace weir {

/// What the choice of a bucket's route depends on, beside the gradients themselves. Equal on all
/// ranks.
struct RouteFacts {
  RouteSettings settings;      ///< What the user asks for.
  int ranks = 1;               ///< Of the process set.
  bool plain = false;          ///< Averaging alone: no compressor has anything to do.
  bool dense_phase = false;    ///< Compression has not begun.
  bool deterministic = false;  ///< Settings::deterministic: sums in rank order.
  bool by_hosts = false;       ///< A hierarchy of hosts means something.
  bool by_links = false;       ///< Servers are reached by ServerLinks: dedicated or asynchronous.
};

/// What the policy says about a bucket whose payloads are gathered. Pure.
Exchange WantedExchange(const RouteFacts& facts, const GradientSlices& gradients);

/// The route of a bucket in the step that `gradients` knows. Pure: the same on all ranks for equal
/// facts and registrations.
RouteKind ChooseRoute(const RouteFacts& facts, const GradientSlices& gradients);

}  // namespace weir
