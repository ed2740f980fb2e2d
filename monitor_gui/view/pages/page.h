#pragma once

#include <QWidget>
#include <cstdint>
#include <functional>
#include <optional>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/run/look.h"

namespace weir::monitor {

/// One of the window's pages. Refresh is called whenever a run or its viewed moment
/// has changed and the page is visible, at most ten times a second. It copies what
/// it shows and releases the run.
class Page : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  virtual void Refresh(const Look& look) = 0;
  /// Returns the numbers shown since the last Refresh, which had the same look.
  virtual Table Export(const Look& look) const = 0;
  /// True once it has finished drawing.
  virtual bool IsReady() const { return true; }
  /// Shows where a step is at which the mouse is in some page; nothing: it is in none.
  virtual void Hover(std::optional<std::int64_t> /*step*/) {}
  /// Shows the layer that is chosen in all pages; empty: none.
  virtual void Select(const QString& /*layer*/) {}

 signals:
  /// Emitted when a person wants all pages to show a step.
  void StepChosen(std::int64_t step);
  /// Emitted when the mouse is at a step; nothing: it is at none any more.
  void StepHovered(std::optional<std::int64_t> step);
  /// Emitted when a person chose a layer for all pages, or none.
  void LayerChosen(const QString& layer);
  /// Emitted when a person wants to see another page, by name.
  void PageWanted(const QString& name);
  /// Emitted when a person wants to see something else of it.
  void RefreshWanted();
};

/// Calls its argument with the current look, for a page that needs more.
using Looking = std::function<void(const std::function<void(const Look&)>&)>;

}  // namespace weir::monitor
