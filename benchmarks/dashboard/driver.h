#pragma once

#include <QString>
#include <functional>
#include <map>
#include <vector>

#include "monitor_gui/window/main_window.h"

namespace weir::bench {

/// Of a frame, in seconds: what passed, and what the window's own thread worked.
struct FrameTime {
  double wall = 0;
  double cpu = 0;
};

/// Uses a window as a busy person would, one thing a frame, and times the frames: from what the
/// person does until the whole window is painted anew, with all that the window does meanwhile.
class Driver {
 public:
  explicit Driver(monitor::MainWindow& window) : window_(window) {}

  /// Each frame of `seconds` on every page, by page.
  std::map<QString, std::vector<FrameTime>> Drive(double seconds);
  /// One frame, with `act` in it.
  FrameTime Frame(const std::function<void()>& act);

 private:
  using Acts = std::vector<std::function<void()>>;
  Acts ActsOn(const QString& page);
  Acts OnLanes(QWidget& page);
  Acts OnLayers(QWidget& page);
  /// Scrolls what scrolls, and chooses what can be chosen.
  Acts OnOther(QWidget& page);

  monitor::MainWindow& window_;
};

}  // namespace weir::bench
