#include <algorithm>
#include <string>

#include "common/log.h"
#include "common/strict.h"
#include "compression/policy.h"
#include "coordinator/gradient_group.h"
#include "coordinator/routes/factor_route.h"
#include "coordinator/routes/frame_coder.h"
#include "coordinator/routes/gpu_dense_route.h"
#include "coordinator/routes/gpu_payload_route.h"
#include "coordinator/routes/push_frames.h"
#include "coordinator/routes/server_route.h"
#include "coordinator/routes/split_route.h"

// How a group's buckets travel in a step, and in one that this rank has nothing for.

namespace weir {
namespace {

/// What route=hierarchical takes.
constexpr const char* kHierarchy =
    "two hosts or more with the same number of ranks on each, two or more";

}  // namespace

RouteKind GradientGroupImpl::ChooseRoute(const GradientBucket& bucket) const {
  const Variant& variant = VariantOf(bucket);
  const GradientSlices& gradients = bucket.gradients();
  const bool over_nccl = gradients.step().gpus != nullptr;
  // NCCL adds up in an order of its own.
  const bool sums_over_nccl = over_nccl && !coordinator_.settings().deterministic;
  if (variant.plain || variant.schedule.DensePhase(next_step_)) {
    return sums_over_nccl && GpuDenseRoute::Suits(gradients, variant.plain) ? RouteKind::kGpuDense
                                                                            : RouteKind::kDense;
  }
  if (FactorRoute::Suits(gradients)) return RouteKind::kFactors;
  if (Wanted(bucket) == Exchange::kPushPull) {
    const bool by_links =
        servers_ && (servers_->links->dedicated() || gradients.step().asynchronous);
    if (by_links && ServerRoute::Suits(gradients)) return RouteKind::kServers;
    const auto ranks = static_cast<std::size_t>(set_.size());
    const bool suits = PushFrames::Suits(gradients, ranks, gradients.step().density);
    if (!by_links && suits) return RouteKind::kPushPull;
  }
  if (gradients.summable()) {
    return sums_over_nccl && GpuPayloadRoute::Suits(gradients) ? RouteKind::kGpuArray
                                                               : RouteKind::kArray;
  }
  const std::size_t frame_bytes = FrameCoder::MaxBytes(gradients, gradients.step().density);
  switch (Wanted(bucket)) {
    case Exchange::kHostAllgather:
      return frame_bytes <= FrameExchange::kMostBytes ? RouteKind::kHosts : RouteKind::kMasked;
    case Exchange::kSplitAllgather:
      if (SplitRoute::Suits(gradients, set_.size())) return RouteKind::kSplit;
      break;
    case Exchange::kSparseAllgather:
      if (over_nccl && GpuPayloadRoute::Suits(gradients)) return RouteKind::kGpuGather;
      break;
    case Exchange::kPushPull:
      break;
    case Exchange::kDenseAllreduce:
      return RouteKind::kMasked;
  }
  return frame_bytes <= FrameExchange::kMostBytes ? RouteKind::kGather : RouteKind::kMasked;
}

bool GradientGroupImpl::goes_by_hosts() const {
  return std::ranges::any_of(plan_.variants, [](const Variant& variant) {
    return variant.route.compressed == Exchange::kHostAllgather;
  });
}

Exchange GradientGroupImpl::Wanted(const GradientBucket& bucket) const {
  RouteSettings route = VariantOf(bucket).route;
  route.dedicated_servers = coordinator_.settings().servers > 0;
  if (route.compressed == Exchange::kHostAllgather && !hosts_) {
    route.compressed = Exchange::kSparseAllgather;
  }
  const GradientSlices& gradients = bucket.gradients();
  return ChooseExchange(route, set_.size(), bucket.dense_bytes(),
                        FrameCoder::MaxBytes(gradients, gradients.step().density));
}

void GradientGroupImpl::SetHosts(std::optional<HostGrid> hosts) {
  hosts_ = std::move(hosts);
  if (hosts_ || set_.size() == 1 || coordinator_.rank() != set_.ranks().front()) return;
  LogWarning(
      "'{}' asks for route=hierarchical, which takes {}; its gradients go from rank to rank, as "
      "with "
      "route=allgather",
      spec_.name, kHierarchy);
}

void GradientGroupImpl::CheckStrict(const GradientBucket& bucket, RouteKind route) const {
  if (!coordinator_.settings().strict) return;
  const Variant& variant = VariantOf(bucket);
  const std::string what = "a bucket of '" + spec_.name + "' would ";
  const std::string when = " in step " + std::to_string(next_step_);
  if (route == RouteKind::kGather && variant.route.compressed == Exchange::kHostAllgather) {
    throw StrictError(what + "not travel by route=hierarchical" + when + ": that takes " +
                      kHierarchy + ". Leave it out, or start the ranks so");
  }
  if (route != RouteKind::kMasked) return;
  const bool asked_for =
      variant.options.Given("policy") && Wanted(bucket) == Exchange::kDenseAllreduce;
  if (asked_for) return;
  const GradientSlices& gradients = bucket.gradients();
  const double density = gradients.step().density;
  throw StrictError(what + "travel uncompressed" + when + ": its " +
                    std::to_string(bucket.dense_bytes()) + " bytes make frames of up to " +
                    std::to_string(FrameCoder::MaxBytes(gradients, density)) + " at density " +
                    std::to_string(density) + ", from each of " + std::to_string(set_.size()) +
                    " ranks. Say policy=auto if that is meant, policy=always to compress, or lower "
                    "the density");
}

std::vector<Bucket*> GradientGroupImpl::BeginEmptyStep() {
  // What the others' step is like; this rank knows no newer rates. It may compress for its host.
  SetContexts({.learning_rates = previous_rates_});
  OpenStep();
  std::vector<Bucket*> buckets;
  for (const auto& bucket : buckets_) {
    bucket->Prepare(ChooseRoute(*bucket), /*empty=*/true);
    buckets.push_back(bucket.get());
  }
  phase_ = Phase::kEmpty;
  return buckets;
}

void GradientGroupImpl::EndEmptyStep(bool taken) {
  if (taken) ++next_step_;
  phase_ = Phase::kClosed;
}

}  // namespace weir
