#pragma once

#include <memory>
#include <vector>

#include "coordinator/network/set_network.h"
#include "coordinator/routes/route.h"
#include "metrics/gauges/traffic.h"
#include "metrics/records/bucket_names.h"

namespace weir {

/// The route of a bucket of gradients in a step: a class each, in this folder, and a row
/// each of the table in routes.cc.
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
  kDrain,
  kDrainFp16,
  kInt8,
  kGpuDense,
  kGpuArray,
  kGpuGather
};

/// Returns the names of routes in records, by the value of their kind.
std::vector<RouteInfo> RouteNames();

/// Returns the operation that a route's exchanges are.
TrafficOp OperationOf(RouteKind kind);

/// Makes a route over `network`, for a bucket that suits it: SplitRoute::Suits, FactorRoute::Suits,
/// an array (GradientSlices::summable), hosts, servers or GPUs that the step knows (GroupStep).
std::unique_ptr<Route> MakeRoute(RouteKind kind, GradientSlices& gradients, SetNetwork& network);

}  // namespace weir
