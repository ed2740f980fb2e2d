#include "coordinator/routes/routes.h"

#include <iterator>

#include "common/check.h"
#include "coordinator/routes/array_route.h"
#include "coordinator/routes/dense_route.h"
#include "coordinator/routes/drain_route.h"
#include "coordinator/routes/factor_route.h"
#include "coordinator/routes/gather_route.h"
#include "coordinator/routes/gpu_array_route.h"
#include "coordinator/routes/gpu_dense_route.h"
#include "coordinator/routes/gpu_gather_route.h"
#include "coordinator/routes/host_route.h"
#include "coordinator/routes/int8_route.h"
#include "coordinator/routes/masked_route.h"
#include "coordinator/routes/push_pull_route.h"
#include "coordinator/routes/server_route.h"
#include "coordinator/routes/split_route.h"

namespace weir {
namespace {

using Made = std::unique_ptr<Route>;

struct Row {
  RouteKind kind;
  TrafficOp operation;
  const char* name;  ///< RouteInfo::route.
  Made (*make)(GradientSlices& gradients, SetNetwork& network);
};

/// A route that reduces or averages arrays, and may do so host by host.
template <typename Reducing>
Made ByHosts(GradientSlices& gradients, SetNetwork& network) {
  return std::make_unique<Reducing>(gradients, network.transport(), network.allreduce_grid());
}
template <DType kType>
Made Draining(GradientSlices& gradients, SetNetwork& network) {
  return std::make_unique<DrainRoute>(gradients, network.transport(), network.allreduce_grid(),
                                      kType);
}
template <typename Sending>
Made Plain(GradientSlices& gradients, SetNetwork& network) {
  return std::make_unique<Sending>(gradients, network.transport());
}
template <typename OnGpu>
Made OverNccl(GradientSlices& gradients, SetNetwork& network) {
  return std::make_unique<OnGpu>(gradients, network);
}
Made Hierarchical(GradientSlices& gradients, SetNetwork& network) {
  return std::make_unique<HostRoute>(gradients, network.transport(), *gradients.step().hosts);
}
Made Served(GradientSlices& gradients, SetNetwork&) {
  return std::make_unique<ServerRoute>(gradients);
}

/// By kind.
constexpr Row kRoutes[] = {
    {RouteKind::kDense, TrafficOp::kAllreduce, "dense", ByHosts<DenseRoute>},
    {RouteKind::kArray, TrafficOp::kAllreduce, "summable", ByHosts<ArrayRoute>},
    {RouteKind::kGather, TrafficOp::kAllgather, "gather", Plain<GatherRoute>},
    {RouteKind::kMasked, TrafficOp::kAllreduce, "masked_dense", ByHosts<MaskedRoute>},
    {RouteKind::kSplit, TrafficOp::kAllgather, "split", Plain<SplitRoute>},
    {RouteKind::kFactors, TrafficOp::kAllreduce, "factors", ByHosts<FactorRoute>},
    {RouteKind::kHosts, TrafficOp::kAllgather, "hierarchical", Hierarchical},
    {RouteKind::kPushPull, TrafficOp::kPushPull, "push_pull", Plain<PushPullRoute>},
    {RouteKind::kServers, TrafficOp::kPushPull, "servers", Served},
    {RouteKind::kDrain, TrafficOp::kAllreduce, "drain", Draining<DType::kFloat32>},
    {RouteKind::kDrainFp16, TrafficOp::kAllreduce, "drain_fp16", Draining<DType::kFloat16>},
    {RouteKind::kInt8, TrafficOp::kAllreduce, "drain_int8", Plain<Int8Route>},
    {RouteKind::kGpuDense, TrafficOp::kAllreduce, "nccl_dense", OverNccl<GpuDenseRoute>},
    {RouteKind::kGpuArray, TrafficOp::kAllreduce, "nccl_summable", OverNccl<GpuArrayRoute>},
    {RouteKind::kGpuGather, TrafficOp::kAllgather, "nccl_gather", OverNccl<GpuGatherRoute>},
};

constexpr bool IsByKind() {
  for (std::size_t i = 0; i < std::size(kRoutes); ++i) {
    if (static_cast<std::size_t>(kRoutes[i].kind) != i) return false;
  }
  return true;
}
static_assert(IsByKind());

}  // namespace

std::vector<RouteInfo> RouteNames() {
  std::vector<RouteInfo> names;
  for (const Row& row : kRoutes) names.push_back({Name(row.operation), row.name});
  return names;
}

TrafficOp OperationOf(RouteKind kind) { return kRoutes[static_cast<std::size_t>(kind)].operation; }

std::unique_ptr<Route> MakeRoute(RouteKind kind, GradientSlices& gradients, SetNetwork& network) {
  const auto index = static_cast<std::size_t>(kind);
  WEIR_CHECK(index < std::size(kRoutes));
  return kRoutes[index].make(gradients, network);
}

}  // namespace weir
