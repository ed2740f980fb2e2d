#include <algorithm>

#include "compression/cpu/squared_norm.h"
#include "coordinator/gradient_bucket.h"

namespace weir {

/// Fuses small gradients into one array for a dense exchange (a large one travels from where it
/// lies). With a gate it measures them instead: how they are scaled is known after it.
void GradientBucket::Pack() {
  if (gate_ == nullptr) {
    StageDense();
    return;
  }
  double squared_norm = 0.0;
  bool finite = true;
  for (const GradientSlice& slice : slices_) {
    const StepContext& context = ContextOf(slice);
    const cpu::SquaredNormResult measured =
        cpu::SquaredNorm(Source(slice), context.gradient_scale, context.pool);
    squared_norm += measured.sum;
    finite = finite && measured.finite;
  }
  gate_->Measure(index_, squared_norm, finite);
}

void GradientBucket::StageDense() {
  if (DirectDense()) return;
  for (const GradientSlice& slice : slices_) {
    // This rank's own factor (clipping), so it is applied here and not by the exchange.
    const float scale = ContextOf(slice).gradient_scale;
    const std::span<const float> source = Source(slice);
    const std::span<float> target = Staged(slice);
    if (scale == 1.0f) {
      std::ranges::copy(source, target.begin());
    } else {
      std::ranges::transform(source, target.begin(), [scale](float x) { return x * scale; });
    }
  }
}

}  // namespace weir
