#pragma once

#include <array>

#include "monitor_gui/run/layer_means.h"
#include "monitor_gui/view/charts/heat_map.h"
#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/pages/chart_links.h"

namespace weir::monitor {

/// The charts of the overview, over one axis of steps: what a step consists of, the network, the
/// density, and the layers.
class OverviewCharts final : public QWidget {
  Q_OBJECT
 public:
  explicit OverviewCharts(Page& page);
  void Refresh(const Look& look);
  void Hover(std::optional<std::int64_t> step);
  void Select(const QString& layer) { layers_->Select(layer); }
  std::vector<const LineChart*> charts() const { return {parts_, network_, density_}; }

 private:
  void ShowParts(const Look& look);
  void ShowNetwork(const Look& look);
  void ShowDensity(const Look& look);
  void ShowLayers(const Look& look);

  LineChart* const parts_;
  LineChart* const network_;
  LineChart* const density_;
  HeatMap* const layers_;
  ChartLinks* const links_;
  std::array<LayerMeans, 2> means_;  ///< By run.
};

}  // namespace weir::monitor
