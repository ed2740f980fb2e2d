#pragma once

#include <chrono>

namespace weir::launcher {

/// Returns a time as seconds, to be written for people: 0.5.
inline double InSeconds(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

}  // namespace weir::launcher
