#pragma once

#include <fmt/core.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace weir::launcher {

/// Writes "1 rank is", "2 ranks are".
inline std::string Ranks(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {} {}", count, count == 1 ? "rank" : "ranks", count == 1 ? one : several);
}

inline double InSeconds(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

}  // namespace weir::launcher
