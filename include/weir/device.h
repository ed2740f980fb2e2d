#pragma once

#include <string>

namespace weir {

/// Where a tensor lies.
struct Device {
  static constexpr int kCpu = -1;
  int gpu = kCpu;  ///< CUDA's number of a GPU in this process, from 0.

  bool is_gpu() const { return gpu != kCpu; }
  friend bool operator==(const Device&, const Device&) = default;
  /// "cpu", "cuda:0".
  std::string ToString() const { return is_gpu() ? "cuda:" + std::to_string(gpu) : "cpu"; }
};

}  // namespace weir
