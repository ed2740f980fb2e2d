#pragma once

#include <QComboBox>

#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/pages/chart_links.h"
#include "monitor_gui/view/pages/page.h"

namespace weir::monitor {

/// Traffic of the network, beside the traffic of dense gradients, and waiting buckets.
class BandwidthPage final : public Page {
  Q_OBJECT
 public:
  explicit BandwidthPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;
  void Hover(std::optional<std::int64_t> step) override;

 private:
  void ListRanks(const Run& run);

  QComboBox* const rank_;
  bool chosen_ = false;  // By a person; otherwise rank 0, once it is known.
  LineChart* const rate_;
  LineChart* const step_bytes_;
  LineChart* const waiting_;
  ChartLinks* const links_;
};

}  // namespace weir::monitor
