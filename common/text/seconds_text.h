#pragma once

#include <fmt/core.h>

#include <string>

namespace weir {

/// Writes a time for people: "1.2 s", "35 ms", "410 us".
inline std::string SecondsText(double seconds) {
  if (seconds >= 1.0) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace weir
