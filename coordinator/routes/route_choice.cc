#include "coordinator/routes/route_choice.h"

#include "common/check.h"
#include "coordinator/routes/factor_route.h"
#include "coordinator/routes/frame_coder.h"
#include "coordinator/routes/gpu_dense_route.h"
#include "coordinator/routes/gpu_payload_route.h"
#include "coordinator/routes/push_frames.h"
#include "coordinator/routes/server_route.h"
#include "coordinator/routes/split_route.h"

namespace weir {

WireRoute WantedWireRoute(const RouteFacts& facts, const GradientSlices& gradients) {
  RouteSettings settings = facts.settings;
  if (settings.compressed == WireRoute::kHostAllgather && !facts.by_hosts) {
    settings.compressed = WireRoute::kSparseAllgather;
  }
  return ChooseWireRoute(settings, facts.ranks, gradients.elements() * sizeof(float),
                         FrameCoder::MaxBytes(gradients, gradients.step().density));
}

RouteKind ChooseRoute(const RouteFacts& facts, const GradientSlices& gradients) {
  const bool over_nccl = gradients.step().gpus != nullptr;
  // NCCL adds up in an order of its own.
  const bool sums_over_nccl = over_nccl && !facts.deterministic;
  if (facts.plain || facts.dense_phase) {
    return sums_over_nccl && GpuDenseRoute::Suits(gradients, facts.plain) ? RouteKind::kGpuDense
                                                                          : RouteKind::kDense;
  }
  if (facts.form != BucketForm::kCompressed) {
    const bool fp16 = facts.form == BucketForm::kFp16;
    if (gradients.drains()) return fp16 ? RouteKind::kDrainFp16 : RouteKind::kDrain;
    WEIR_CHECK(!fp16);  // Of compressors without a memory, only casts have alternatives.
    return sums_over_nccl && GpuDenseRoute::Suits(gradients, /*plain=*/true) ? RouteKind::kGpuDense
                                                                             : RouteKind::kDense;
  }
  if (FactorRoute::Suits(gradients)) return RouteKind::kFactors;
  const WireRoute wanted = WantedWireRoute(facts, gradients);
  if (wanted == WireRoute::kPushPull) {
    if (facts.by_links && ServerRoute::Suits(gradients)) return RouteKind::kServers;
    const auto ranks = static_cast<std::size_t>(facts.ranks);
    const bool suits = PushFrames::Suits(gradients, ranks, gradients.step().density);
    if (!facts.by_links && suits) return RouteKind::kPushPull;
  }
  if (gradients.summable()) {
    return sums_over_nccl && GpuPayloadRoute::Suits(gradients) ? RouteKind::kGpuArray
                                                               : RouteKind::kArray;
  }
  const std::size_t frame_bytes = FrameCoder::MaxBytes(gradients, gradients.step().density);
  switch (wanted) {
    case WireRoute::kHostAllgather:
      return frame_bytes <= FrameExchange::kMostBytes ? RouteKind::kHosts : RouteKind::kMasked;
    case WireRoute::kSplitAllgather:
      if (SplitRoute::Suits(gradients, facts.ranks)) return RouteKind::kSplit;
      break;
    case WireRoute::kSparseAllgather:
      if (over_nccl && GpuPayloadRoute::Suits(gradients)) return RouteKind::kGpuGather;
      break;
    case WireRoute::kPushPull:
      break;
    case WireRoute::kDenseAllreduce:
      return RouteKind::kMasked;
  }
  return frame_bytes <= FrameExchange::kMostBytes ? RouteKind::kGather : RouteKind::kMasked;
}

}  // namespace weir
