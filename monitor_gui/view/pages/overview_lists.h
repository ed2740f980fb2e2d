#pragma once

#include <QLabel>
#include <QTableView>

#include "monitor_gui/run/look.h"
#include "monitor_gui/view/pages/page.h"
#include "monitor_gui/view/tables/text_table.h"

namespace weir::monitor {

/// The lists of the overview: what to do, the slowest layers, what was decided, and the ranks.
class OverviewLists final : public QWidget {
  Q_OBJECT
 public:
  static constexpr std::size_t kLayers = 10;

  explicit OverviewLists(Page& page);
  void Refresh(const Look& look);
  void Select(const QString& layer);
  const QTableView& layers() const { return *layers_view_; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void ShowAdvice(const Look& look);
  void ShowLayers(const Look& look);
  void ShowDecisions(const Look& look);
  void ShowRanks(const Look& look);
  void ShowSections();
  void SelectRow();

  QLabel* const advice_;
  TextTable layers_;
  QTableView* const layers_view_;
  QLabel* const plans_;
  TextTable changes_;
  QTableView* const changes_view_;
  TextTable ranks_;
  QWidget* const ranks_section_;  ///< There where the others leave room.
  QTableView* const ranks_view_;
  QString selected_;
};

}  // namespace weir::monitor
