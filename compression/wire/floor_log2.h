#pragma once

#include <cstdint>

namespace weir {

/// floor(log2(x)) of x > 0. Code for GPUs must not use std::bit_width: nvcc silently turns the
/// builtin function that it calls into 0.
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
