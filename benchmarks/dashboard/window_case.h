#pragma once

#include <QString>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace weir::bench {

/// A window to measure.
struct WindowCase {
  QString place;                ///< RUN of weir-monitor.
  int ranks = 0;                ///< Ranks that it must show before it is driven.
  double seconds = 5;           ///< On each page.
  std::int64_t started_ns = 0;  ///< Start of this process, by the monotonic clock.
};

/// Opens the window in this process, which has a QApplication, waits until it shows the run, and
/// drives it. Returns {"first_frame_s", "open_s", "peak_mb", "frames":
/// {page: {"wall": [seconds, ...], "cpu": [...]}}};
/// `open_s`: from the window's creation until everything recorded is read and painted, or until
/// a live job's ranks are. Throws std::runtime_error if the run cannot be read.
nlohmann::json Measure(const WindowCase& of);

}  // namespace weir::bench
