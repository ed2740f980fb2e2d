#include "coordinator/routes/dense_route.h"

#include <algorithm>

namespace weir {

void DenseRoute::Prepare(bool empty) {
  empty_ = empty;
  if (empty) std::ranges::fill(gradients().staging(), 0.0f);
}

std::span<const BucketStage> DenseRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kPack, kExchange, kUnpack};
  return kStages;
}

bool DenseRoute::InPlace() const {
  const GradientSlice& slice = gradients().all().front();
  return !empty_ && gradients().all().size() == 1 && slice.dtype == DType::kFloat32 &&
         slice.gradient != nullptr && slice.update != nullptr &&
         gradients().ContextOf(slice).gradient_scale == 1.0f;
}

void DenseRoute::Run(BucketStage stage) {
  if (stage != BucketStage::kUnpack) {
    if (!InPlace()) gradients().Stage();
    return;
  }
  for (const GradientSlice& slice : gradients().all()) {
    gradients().Finish(slice, InPlace() ? gradients().Target(slice) : gradients().Staged(slice));
  }
}

Collective* DenseRoute::Bind(std::size_t) {
  const void* in = gradients().staging().data();
  void* out = gradients().staging().data();
  if (InPlace()) {
    in = gradients().all().front().gradient;
    out = gradients().all().front().update;
  }
  allreduce_.Bind(in, out, static_cast<std::int64_t>(gradients().elements()), DType::kFloat32,
                  gradients().step().reduction);
  return &allreduce_;
}

}  // namespace weir
