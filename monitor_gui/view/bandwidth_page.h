#pragma once

#include <QComboBox>

#include "monitor_gui/view/line_chart.h"
#include "monitor_gui/view/page.h"

namespace weir::monitor {

/// What the network carries, beside what dense gradients would be, and what waits.
class BandwidthPage final : public Page {
  Q_OBJECT
 public:
  explicit BandwidthPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;

 private:
  void ListRanks(const Run& run);

  QComboBox* const rank_;
  bool chosen_ = false;  // By a person; otherwise it is rank 0 as soon as that is known.
  LineChart* const rate_;
  LineChart* const step_bytes_;
  LineChart* const waiting_;
};

}  // namespace weir::monitor
