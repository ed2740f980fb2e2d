#pragma once

#include <QDockWidget>
#include <QKeySequence>
#include <QMainWindow>
#include <utility>
#include <vector>

#include "monitor_gui/view/page.h"

namespace weir::monitor {

/// The pages of a window, in docks that a person arranges.
class PageDocks final : public QObject {
  Q_OBJECT
 public:
  /// `window` outlives it.
  explicit PageDocks(QMainWindow& window) : QObject(&window), window_(window) {}

  /// Adds a page behind the others, and to the window an action that shows it.
  void Add(const QString& name, const QString& title, const QList<QKeySequence>& keys, Page* page);
  /// Brings a page to the front. False: there is none of this name.
  bool Show(const QString& name);
  /// Those that can be seen: not those behind other tabs.
  void Refresh(const Look& look);
  /// The one with the focus, else the first that can be seen. There is one.
  Page& current() const;

 signals:
  /// A page came into view, and is not up to date.
  void Uncovered();
  /// A person wants to see something else of a page.
  void RefreshWanted();

 private:
  void ShowTitles();

  QMainWindow& window_;
  std::vector<std::pair<QDockWidget*, Page*>> pages_;
};

}  // namespace weir::monitor
