#include "compression/dgc/clipping.h"

#include <cmath>

#include "common/check.h"

namespace weir {

double ClippingThreshold(double c, int ranks, GradientScaling scaling, double clip_scale) {
  WEIR_CHECK(ranks >= 1);
  const double exponent = scaling == GradientScaling::kLocalMean ? clip_scale : clip_scale - 1.0;
  return c * std::pow(static_cast<double>(ranks), exponent);
}

float ClippingCoefficient(double norm, double threshold) {
  if (!std::isfinite(norm) || norm <= threshold) return 1.0f;
  return static_cast<float>(threshold / norm);
}

}  // namespace weir
