#include "coordinator/routes/array_route.h"

#include <algorithm>

#include "coordinator/gradients/convert.h"

namespace weir {

void ArrayRoute::Prepare(bool empty) {
  array_.resize(gradients().elements() * SizeOf(dtype()));
  if (empty) std::ranges::fill(array_, std::byte{0});
}

std::span<const BucketStage> ArrayRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kUnpack};
  return kStages;
}

void ArrayRoute::Run(BucketStage stage) {
  std::span<std::byte> rest(array_);
  for (const GradientSlice& slice : gradients().all()) {
    if (stage == BucketStage::kCompress) {
      rest = rest.subspan(gradients().Encode(slice, rest));
      continue;
    }
    const std::span<float> mean = gradients().Target(slice);
    // A sum and not a payload: it may have overflowed, as a dense one may.
    ConvertToFloat(rest.data(), dtype(), mean);
    rest = rest.subspan(slice.elements * SizeOf(dtype()));
    gradients().Finish(slice, mean);
  }
}

Collective* ArrayRoute::Bind(std::size_t) {
  return &allreduce_.Bind(array_.data(), array_.data(),
                          static_cast<std::int64_t>(gradients().elements()), dtype(),
                          gradients().step().reduction);
}

}  // namespace weir
