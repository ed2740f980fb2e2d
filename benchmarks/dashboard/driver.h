#pragma once

#include <QString>
#include <functional>
#include <map>
#include <vector>

#include "monitor_gui/window/main_window.h"

namespace weir::bench {

/// Seconds of a frame: elapsed, and of work in the window's own thread.
struct FrameTime {
  double wall = 0;
  double cpu = 0;
};

/// Uses a window as a busy person would, one action a frame, and times the frames: from the action
/// until the whole window is repainted, with all that the window does meanwhile.
class Driver {
 public:
  explicit Driver(monitor::MainWindow& window) : window_(window) {}

  /// Returns the frames of `seconds` on every page, by page.
  std::map<QString, std::vector<FrameTime>> Drive(double seconds);
  /// Times one frame, with `act` in it.
  FrameTime Frame(const std::function<void()>& act);

 private:
  using Acts = std::vector<std::function<void()>>;
  Acts ActsOn(const QString& page);
  Acts OnLanes(QWidget& page);
  Acts OnLayers(QWidget& page);
  /// Scrolls all areas that scroll, and uses all boxes that offer a choice.
  Acts OnOther(QWidget& page);

  monitor::MainWindow& window_;
};

}  // namespace weir::bench
