#include <algorithm>
#include <string>

#include "common/log.h"
#include "common/strict.h"
#include "coordinator/groups/gradient_group.h"
#include "coordinator/routes/frame_coder.h"

// How a group's buckets travel in a step, and in one that this rank has nothing for.

namespace weir {
namespace {

/// What route=hierarchical takes.
constexpr const char* kHierarchy =
    "two hosts or more with the same number of ranks on each, two or more";

}  // namespace

RouteFacts GradientGroupImpl::FactsOf(const GradientBucket& bucket) const {
  const Variant& variant = VariantOf(bucket);
  RouteFacts facts{.settings = variant.route,
                   .ranks = set_.size(),
                   .plain = variant.plain,
                   .dense_phase = variant.schedule.DensePhase(next_step_),
                   .deterministic = coordinator_.settings().deterministic,
                   .by_hosts = hosts_.has_value()};
  facts.settings.dedicated_servers = coordinator_.settings().servers > 0;
  facts.by_links =
      servers_ && (servers_->links->dedicated() || bucket.gradients().step().asynchronous);
  return facts;
}

bool GradientGroupImpl::goes_by_hosts() const {
  return std::ranges::any_of(plan_.variants, [](const Variant& variant) {
    return variant.route.compressed == Exchange::kHostAllgather;
  });
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
      variant.options.Given("policy") &&
      WantedExchange(FactsOf(bucket), bucket.gradients()) == Exchange::kDenseAllreduce;
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
    bucket->Prepare(ChooseRoute(FactsOf(*bucket), bucket->gradients()), /*empty=*/true);
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
