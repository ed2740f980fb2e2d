#pragma once

#include <array>

#include "monitor_gui/run/layer_means.h"
#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/pages/chart_links.h"
#include "monitor_gui/view/pages/page.h"

namespace weir::monitor {

/// Sent part of the gradients, its threshold, and the part kept back, over the steps.
class SparsityPage final : public Page {
  Q_OBJECT
 public:
  explicit SparsityPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;
  void Hover(std::optional<std::int64_t> step) override;

 private:
  std::array<LayerMeans, 2> means_;  // For the run, and for the compared one.
  LineChart* const density_;
  LineChart* const residual_;
  LineChart* const threshold_;
  ChartLinks* const links_;
};

}  // namespace weir::monitor
