#pragma once

#include <span>

#include "common/threads/thread_pool.h"

namespace weir::cpu {

struct SquaredNormResult {
  double sum = 0.0;    ///< Not finite when an entry is not.
  bool finite = true;  ///< Every entry is, after scaling.
};

/// The sum of (value * scale)^2 in double, with `value * scale` rounded to float, as the gradient
/// enters the memory. The order of additions is a fixed tree over the indices, so the result is the
/// same for every thread count and instruction set. `pool` may be null. Thread-safe.
SquaredNormResult SquaredNorm(std::span<const float> values, float scale,
                              ThreadPool* pool = nullptr);

}  // namespace weir::cpu
