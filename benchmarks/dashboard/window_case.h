#pragma once

#include <QString>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace weir::bench {

/// What is measured of one window.
struct WindowCase {
  QString place;                ///< As weir-monitor takes it.
  int ranks = 0;                ///< That it shall show before it is driven.
  double seconds = 5;           ///< On each page.
  std::int64_t started_ns = 0;  ///< When this process was started, by the monotonic clock.
};

/// Opens the window in this process, which has a QApplication, waits until it shows the run, and
/// drives it. Returns {"first_frame_s", "open_s", "peak_mb", "frames":
/// {page: {"wall": [seconds, ...], "cpu": [...]}}};
/// `open_s`: from the window's making until all that was recorded is read and painted, or until a
/// live job's ranks are. Throws std::runtime_error where the run cannot be read.
nlohmann::json Measure(const WindowCase& of);

}  // namespace weir::bench
