#pragma once

#include <QWidget>

#include "monitor_gui/run/lanes.h"

namespace weir::monitor {

/// The scale of a window of time, in round steps, from the window's begin on.
class TimeAxis final : public QWidget {
  Q_OBJECT
 public:
  /// `left`: pixels before the scale begins.
  TimeAxis(int left, QWidget* parent);
  void Show(TimeWindow window, std::int64_t origin_ns);
  QSize sizeHint() const override { return {200, 24}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const int left_;
  TimeWindow window_;
  std::int64_t origin_ns_ = 0;
};

}  // namespace weir::monitor
