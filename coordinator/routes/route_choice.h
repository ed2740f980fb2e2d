#pragma once

#include "compression/options/policy.h"
#include "coordinator/plan/step_plan.h"
#include "coordinator/routes/routes.h"

namespace weir {

/// Facts that decide a bucket's route, beside the gradients
/// themselves. Equal on all ranks.
struct RouteFacts {
  RouteSettings settings;                     ///< The user's choice.
  int ranks = 1;                              ///< In the process set.
  bool plain = false;                         ///< Only averaging: no compressor has anything to do.
  bool remembers = false;                     ///< Variant::remembers.
  bool dense_phase = false;                   ///< Compression has not begun.
  BucketForm form = BucketForm::kCompressed;  ///< Planned; one of the bucket's alternatives.
  bool deterministic = false;                 ///< Settings::deterministic: sums in rank order.
  bool by_hosts = false;                      ///< A hierarchy of hosts exists.
  bool by_links = false;  ///< Servers are reached by ServerLinks: dedicated or asynchronous.
};

/// Returns the policy's choice for a bucket whose payloads are gathered. Pure.
WireRoute WantedWireRoute(const RouteFacts& facts, const GradientSlices& gradients);

/// Returns the route of a bucket in the current step of `gradients`. Pure: the same on all ranks
/// for equal facts and registrations.
RouteKind ChooseRoute(const RouteFacts& facts, const GradientSlices& gradients);

}  // namespace weir
