#pragma once

#include <QWidget>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// One of the window's pages. Refresh is called with the run whenever that has changed and the page
/// is seen, at most ten times a second: it takes what it shows and lets go of the run.
class Page : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  virtual void Refresh(const Run& run) = 0;
};

}  // namespace weir::monitor
