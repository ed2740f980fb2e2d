#pragma once

#include <QDockWidget>
#include <QKeySequence>
#include <QMainWindow>
#include <utility>
#include <vector>

#include "monitor_gui/view/pages/page.h"

namespace weir::monitor {

/// The pages of a window, in docks that a person arranges.
class PageDocks final : public QObject {
  Q_OBJECT
 public:
  /// `window` outlives it.
  explicit PageDocks(QMainWindow& window) : QObject(&window), window_(window) {}

  /// Adds a page after the others, and to the window an action that shows it.
  void Add(const QString& name, const QString& title, const QList<QKeySequence>& keys, Page* page);
  /// Shows in all pages which layer is chosen.
  void Select(const QString& layer);
  /// Brings a page to the front. False: there is none of this name.
  bool Show(const QString& name);
  /// Refreshes the visible pages: not those behind other tabs.
  void Refresh(const Look& look);
  /// Returns the page with the focus, else the first visible one. There is always one.
  Page& current() const;

 signals:
  /// Emitted when a person chose a step in a page.
  void StepChosen(std::int64_t step);
  /// Emitted when a page came into view, and is not up to date.
  void Uncovered();
  /// Emitted when a person wants to see something else of a page.
  void RefreshWanted();

 private:
  void Connect(const QDockWidget& dock, const Page& page);
  void ShowTitles();

  QMainWindow& window_;
  std::vector<std::pair<QDockWidget*, Page*>> pages_;
};

}  // namespace weir::monitor
