#include "coordinator/convert.h"
#include "coordinator/gradient_bucket.h"

namespace weir {

/// Hands the averaged array back to the tensors, after the momentum that follows the exchange.
void GradientBucket::Unpack() {
  std::size_t at = 0;
  for (const GradientSlice& slice : slices_) {
    std::span<float> result;
    if (route_ == BucketRoute::kSummable) {
      const std::size_t bytes = slice.elements * SizeOf(*summable());
      result = Target(slice);
      // A sum and no payload: it may have overflowed, as a dense one may.
      ConvertToFloat(frame_.data() + at, *summable(), result);
      at += bytes;
    } else {
      result = route_ == BucketRoute::kDense && DirectDense() ? Target(slice) : Staged(slice);
    }
    slice.compressor->Finish(ContextOf(slice), result);
    Deliver(slice, result);
  }
}

}  // namespace weir
