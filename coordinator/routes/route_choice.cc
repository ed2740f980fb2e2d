#include "coordinator/routes/route_choice.h"

#include "common/check.h"
#include "coordinator/routes/factor_route.h"
#include "coordinator/routes/frame_coder.h"
#include "coordinator/routes/gpu_dense_route.h"
#include "coordinator/routes/gpu_payload_route.h"
#include "coordinator/routes/int8_route.h"
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
  const auto dense = [&](bool plain) {
    return sums_over_nccl && GpuDenseRoute::Suits(gradients, plain) ? RouteKind::kGpuDense
                                                                    : RouteKind::kDense;
  };
  if (facts.dense_phase) return dense(facts.plain);
  switch (facts.form) {
    case BucketForm::kDense:
      return facts.remembers ? RouteKind::kDrain : dense(/*plain=*/true);
    case BucketForm::kFp16:
      return RouteKind::kDrainFp16;
    case BucketForm::kInt8:
      return Int8Route::Suits(gradients, facts.ranks) ? RouteKind::kInt8 : RouteKind::kDrainFp16;
    case BucketForm::kServed:
      if (PushFrames::Suits(gradients, static_cast<std::size_t>(facts.ranks),
                            gradients.step().density)) {
        return RouteKind::kPushPull;
      }
      break;
    case BucketForm::kSplit:
      if (SplitRoute::Suits(gradients, facts.ranks)) return RouteKind::kSplit;
      break;
    case BucketForm::kCompressed:
      break;
  }
  if (facts.plain) return dense(/*plain=*/true);
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
