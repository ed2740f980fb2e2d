#pragma once

#include <QLabel>

#include "monitor_gui/view/pages/page.h"
#include "monitor_gui/view/tables/text_table.h"

namespace weir::monitor {

/// How each bucket travels and why, the plans that were considered, and the changes of the plan.
class DecisionsPage final : public Page {
  Q_OBJECT
 public:
  explicit DecisionsPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;

 private:
  void ShowBuckets(const Look& look);
  void ShowConsidered(const Look& look);
  void ShowChanges(const Look& look);

  QLabel* const sentences_;
  TextTable buckets_;
  TextTable considered_;
  TextTable changes_;
  QTableView* const buckets_view_;
  QTableView* const considered_view_;
  QTableView* const changes_view_;
  QLabel* const considered_title_;
  QWidget* const below_;  // What there is where something was planned.
};

}  // namespace weir::monitor
