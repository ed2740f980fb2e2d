#include <string>

#include "common/strict.h"
#include "compression/policy.h"
#include "coordinator/gradient_group.h"

// How a group's buckets travel in a step, and in one that this rank has nothing for.

namespace weir {

BucketRoute GradientGroupImpl::ChooseRoute(const GradientBucket& bucket) const {
  if (plan_.plain || plan_.schedule.DensePhase(next_step_)) return BucketRoute::kDense;
  if (bucket.summable()) return BucketRoute::kSummable;
  const std::size_t frame_bytes = bucket.MaxFrameBytes(step_.density);
  const Route route =
      weir::ChooseRoute(plan_.policy, set_.size(), bucket.dense_bytes(), frame_bytes);
  return route == Route::kSparseAllgather && frame_bytes <= FrameAllgather::kMostBytes
             ? BucketRoute::kGather
             : BucketRoute::kMaskedDense;
}

void GradientGroupImpl::CheckStrict(const GradientBucket& bucket, BucketRoute route) const {
  if (route != BucketRoute::kMaskedDense || !coordinator_.settings().strict) return;
  const std::size_t frame_bytes = bucket.MaxFrameBytes(step_.density);
  const bool asked_for = plan_.options.Given("policy") &&
                         weir::ChooseRoute(plan_.policy, set_.size(), bucket.dense_bytes(),
                                           frame_bytes) == Route::kDenseAllreduce;
  if (asked_for) return;
  throw StrictError(
      "a bucket of '" + spec_.name +
      "' would travel uncompressed "
      "in step " +
      std::to_string(next_step_) + ": its " + std::to_string(bucket.dense_bytes()) +
      " bytes make frames of up to " + std::to_string(frame_bytes) + " at density " +
      std::to_string(step_.density) + ", from each of " + std::to_string(set_.size()) +
      " ranks. Say policy=auto if that is meant, policy=always to compress, or lower the "
      "density");
}

std::vector<Bucket*> GradientGroupImpl::BeginEmptyStep() {
  OpenStep();
  step_.contexts.clear();
  std::vector<Bucket*> buckets;
  for (const auto& bucket : buckets_) {
    bucket->PrepareEmpty(ChooseRoute(*bucket));
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
