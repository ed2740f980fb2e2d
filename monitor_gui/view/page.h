#pragma once

#include <QWidget>

#include "monitor_gui/run/look.h"

namespace weir::monitor {

/// One of the window's pages. Refresh is called whenever the run or the moment at which it is
/// looked at has changed and the page is seen, at most ten times a second: it takes what it shows
/// and lets go of the run.
class Page : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  virtual void Refresh(const Look& look) = 0;
};

}  // namespace weir::monitor
