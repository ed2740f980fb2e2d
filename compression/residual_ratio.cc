#include "compression/residual_ratio.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "compression/cpu/squared_norm.h"

namespace weir {

float ResidualRatio(std::span<const float> residual, std::span<const float> gradient, float scale,
                    std::uint64_t turn) {
  WEIR_CHECK(residual.size() == gradient.size());
  const std::size_t windows = (gradient.size() + kResidualWindow - 1) / kResidualWindow;
  if (windows == 0) return -1.0f;
  const std::size_t begin = turn % windows * kResidualWindow;
  const std::size_t count = std::min(kResidualWindow, gradient.size() - begin);
  const auto kept = cpu::SquaredNorm(residual.subspan(begin, count), 1.0f, nullptr);
  const auto given = cpu::SquaredNorm(gradient.subspan(begin, count), scale, nullptr);
  if (!kept.finite || !given.finite || given.sum == 0.0) return -1.0f;
  return static_cast<float>(std::sqrt(kept.sum / given.sum));
}

}  // namespace weir
