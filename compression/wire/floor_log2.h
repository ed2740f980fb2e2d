#pragma once

#include <cstdint>

namespace weir {

/// floor(log2(x)) of x > 0. std::bit_width is not for what GPUs compute too: of the builtin
/// function that it calls nvcc makes 0, and says nothing.
constexpr unsigned FloorLog2(std::uint64_t x) {
  unsigned log = 0;
  for (unsigned step = 32; step > 0; step /= 2) {
    const bool above = x >> step != 0;
    log += above ? step : 0;
    x = above ? x >> step : x;
  }
  return log;
}

}  // namespace weir
