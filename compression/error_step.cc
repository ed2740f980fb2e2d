#include "compression/error_step.h"

#include "common/check.h"
#include "compression/memory/step_math.h"

namespace weir {

std::uint32_t Take(const ErrorStep& step, std::span<float> error) {
  WEIR_CHECK(step.gradient.size() == error.size());
  std::uint32_t non_finite = 0;
  for (std::size_t i = 0; i < error.size(); ++i) {
    const float scaled = FiniteOrZero(step.scale * step.gradient[i], non_finite);
    error[i] = WithError(scaled, step.ratio, error[i], non_finite);
  }
  return non_finite;
}

}  // namespace weir
