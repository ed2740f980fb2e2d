#pragma once

#include <memory>
#include <vector>

#include "coordinator/process_set.h"
#include "coordinator/routes/route.h"
#include "metrics/bucket_names.h"

namespace weir {

/// What a step's bucket looks like on the network: a class each, in this folder.
enum class RouteKind : std::uint8_t {
  kDense,
  kArray,
  kGather,
  kMasked,
  kSplit,
  kFactors,
  kHosts,
  kPushPull,
  kServers,
  kGpuDense,
  kGpuArray,
  kGpuGather
};
inline constexpr std::size_t kRouteKinds = 12;

/// What they are called in records, by their value.
std::vector<RouteInfo> RouteNames();

/// A route for a bucket of `set`, which suits it: SplitRoute::Suits, FactorRoute::Suits, an array
/// (GradientSlices::summable), hosts, servers or GPUs that the step knows (GroupStep).
std::unique_ptr<Route> MakeRoute(RouteKind kind, GradientSlices& gradients, ProcessSet& set);

}  // namespace weir
