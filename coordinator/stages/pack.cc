#include <cstring>

#include "compression/cpu/squared_norm.h"
#include "coordinator/convert.h"
#include "coordinator/gradient_bucket.h"

namespace weir {

/// Fuses small gradients into one array for a dense exchange (a large one travels from where it
/// lies), and measures them when the step has a gate.
void GradientBucket::Pack() {
  const bool copy = route_ == BucketRoute::kDense && !DirectDense();
  double squared_norm = 0.0;
  bool finite = true;
  for (const GradientSlice& slice : slices_) {
    if (!copy && gate_ == nullptr) continue;
    const std::span<const float> source = Source(slice);
    if (gate_ != nullptr) {
      const cpu::SquaredNormResult measured =
          cpu::SquaredNorm(source, ContextOf(slice).gradient_scale);
      squared_norm += measured.sum;
      finite = finite && measured.finite;
    }
    if (copy) std::memcpy(Staged(slice).data(), source.data(), source.size_bytes());
  }
  if (gate_ != nullptr) gate_->Measure(index_, squared_norm, finite);
}

}  // namespace weir
