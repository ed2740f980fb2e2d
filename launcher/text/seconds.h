#pragma once

#include <chrono>

namespace weir::launcher {

/// Returns a time as seconds, to be written for people: 0.5.
inline double InSeconds(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

/// The opposite, in whole milliseconds.
inline std::chrono::milliseconds FromSeconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(seconds * 1000));
}

}  // namespace weir::launcher
