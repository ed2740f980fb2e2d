#pragma once

#include <QLabel>

#include "monitor_gui/view/page.h"
#include "monitor_gui/view/text_table.h"

namespace weir::monitor {

/// How each rank does beside the others.
class RanksPage final : public Page {
  Q_OBJECT
 public:
  explicit RanksPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;

 private:
  TextTable table_;
  QLabel* const stalls_;  ///< What waits for whom, a line each; there is room for names.
  QTableView* view_ = nullptr;
};

}  // namespace weir::monitor
