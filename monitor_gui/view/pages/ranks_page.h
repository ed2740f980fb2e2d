#pragma once

#include <QLabel>

#include "monitor_gui/view/pages/page.h"
#include "monitor_gui/view/tables/text_table.h"

namespace weir::monitor {

/// Every rank, compared with the others.
class RanksPage final : public Page {
  Q_OBJECT
 public:
  explicit RanksPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;

 private:
  TextTable table_;
  QLabel* const stalls_;  ///< A line for each stall; names have room.
  QTableView* view_ = nullptr;
};

}  // namespace weir::monitor
