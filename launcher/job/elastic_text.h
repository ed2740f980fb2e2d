#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>

namespace weir::launcher {

/// Writes "1 rank is", "2 ranks are".
inline std::string Ranks(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {} {}", count, count == 1 ? "rank" : "ranks", count == 1 ? one : several);
}

}  // namespace weir::launcher
