#pragma once

#include "monitor_gui/view/pages/page.h"
#include "monitor_gui/view/tables/text_table.h"

namespace weir::monitor {

/// The route of each bucket, and its time.
class DecisionsPage final : public Page {
  Q_OBJECT
 public:
  explicit DecisionsPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;

 private:
  TextTable table_;
  QTableView* view_ = nullptr;
};

}  // namespace weir::monitor
