#pragma once

#include <QWidget>
#include <functional>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/run/look.h"

namespace weir::monitor {

/// One of the window's pages. Refresh is called whenever a run or the moment at which it is looked
/// at has changed and the page is seen, at most ten times a second: it takes what it shows and lets
/// go of the run.
class Page : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  virtual void Refresh(const Look& look) = 0;
  /// The numbers that it shows since the last Refresh, which was of this.
  virtual Table Export(const Look& look) const = 0;
  /// It has drawn all it wants to draw.
  virtual bool IsReady() const { return true; }

 signals:
  /// A person wants to see something else of it.
  void RefreshWanted();
};

/// Calls its argument with what there is to look at now, for a page that wants to know more.
using Looking = std::function<void(const std::function<void(const Look&)>&)>;

}  // namespace weir::monitor
