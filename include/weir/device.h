#pragma once

#include <string>

namespace weir {

/// The memory that a tensor lies in: the host's or a GPU's.
struct Device {
  static constexpr int kCpu = -1;
  int gpu = kCpu;  ///< CUDA's number of a GPU in this process, from 0.

  bool is_gpu() const { return gpu != kCpu; }
  friend bool operator==(const Device&, const Device&) = default;
  /// "cpu", "cuda:0".
  std::string ToString() const { return is_gpu() ? "cuda:" + std::to_string(gpu) : "cpu"; }
};

}  // namespace weir
