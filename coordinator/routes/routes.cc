#include "coordinator/routes/routes.h"

#include "common/check.h"
#include "coordinator/routes/array_route.h"
#include "coordinator/routes/dense_route.h"
#include "coordinator/routes/factor_route.h"
#include "coordinator/routes/gather_route.h"
#include "coordinator/routes/gpu_array_route.h"
#include "coordinator/routes/gpu_dense_route.h"
#include "coordinator/routes/gpu_gather_route.h"
#include "coordinator/routes/host_route.h"
#include "coordinator/routes/masked_route.h"
#include "coordinator/routes/push_pull_route.h"
#include "coordinator/routes/server_route.h"
#include "coordinator/routes/split_route.h"

namespace weir {

std::vector<RouteInfo> RouteNames() {
  std::vector<RouteInfo> names(kRouteKinds);
  const auto name = [&](RouteKind kind) -> RouteInfo& {
    return names.at(static_cast<std::size_t>(kind));
  };
  name(RouteKind::kDense) = {"allreduce", "dense"};
  name(RouteKind::kArray) = {"allreduce", "summable"};
  name(RouteKind::kGather) = {"allgather", "gather"};
  name(RouteKind::kMasked) = {"allreduce", "masked_dense"};
  name(RouteKind::kSplit) = {"allgather", "split"};
  name(RouteKind::kFactors) = {"allreduce", "factors"};
  name(RouteKind::kHosts) = {"allgather", "hierarchical"};
  name(RouteKind::kPushPull) = {"push_pull", "push_pull"};
  name(RouteKind::kServers) = {"push_pull", "servers"};
  name(RouteKind::kGpuDense) = {"allreduce", "nccl_dense"};
  name(RouteKind::kGpuArray) = {"allreduce", "nccl_summable"};
  name(RouteKind::kGpuGather) = {"allgather", "nccl_gather"};
  return names;
}

std::unique_ptr<Route> MakeRoute(RouteKind kind, GradientSlices& gradients, ProcessSet& set) {
  Transport& transport = set.transport();
  switch (kind) {
    case RouteKind::kDense:
      return std::make_unique<DenseRoute>(gradients, transport, set.allreduce_grid());
    case RouteKind::kArray:
      return std::make_unique<ArrayRoute>(gradients, transport, set.allreduce_grid());
    case RouteKind::kGather:
      return std::make_unique<GatherRoute>(gradients, transport);
    case RouteKind::kMasked:
      return std::make_unique<MaskedRoute>(gradients, transport, set.allreduce_grid());
    case RouteKind::kSplit:
      return std::make_unique<SplitRoute>(gradients, transport);
    case RouteKind::kFactors:
      return std::make_unique<FactorRoute>(gradients, transport, set.allreduce_grid());
    case RouteKind::kHosts:
      return std::make_unique<HostRoute>(gradients, transport, *gradients.step().hosts);
    case RouteKind::kPushPull:
      return std::make_unique<PushPullRoute>(gradients, transport);
    case RouteKind::kServers:
      return std::make_unique<ServerRoute>(gradients);
    case RouteKind::kGpuDense:
      return std::make_unique<GpuDenseRoute>(gradients, set);
    case RouteKind::kGpuArray:
      return std::make_unique<GpuArrayRoute>(gradients, set);
    case RouteKind::kGpuGather:
      return std::make_unique<GpuGatherRoute>(gradients, set);
  }
  WEIR_CHECK(false);
  return nullptr;
}

}  // namespace weir
