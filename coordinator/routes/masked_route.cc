#include "coordinator/routes/masked_route.h"

#include <algorithm>

namespace weir {

void MaskedRoute::Prepare(bool empty) {
  coder_.Prepare();
  if (empty) std::ranges::fill(gradients().staging(), 0.0f);
}

std::span<const BucketStage> MaskedRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kUnpack};
  return kStages;
}

void MaskedRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) {
    coder_.Write();
    return coder_.DecodeOwn();
  }
  for (const GradientSlice& slice : gradients().all()) {
    gradients().Finish(slice, gradients().Staged(slice));
  }
}

Collective* MaskedRoute::Bind(std::size_t) {
  float* staging = gradients().staging().data();
  return &allreduce_.Bind(staging, staging, static_cast<std::int64_t>(gradients().elements()),
                          DType::kFloat32, {ReduceOp::kAverage, 1.0, 1.0});
}

}  // namespace weir
