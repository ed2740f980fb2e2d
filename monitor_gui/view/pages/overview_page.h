#pragma once

#include "monitor_gui/view/pages/overview_charts.h"
#include "monitor_gui/view/pages/overview_lists.h"
#include "monitor_gui/view/pages/page.h"

namespace weir::monitor {

/// The whole run on one screen: what a step consists of, the network, the density and the layers
/// over the steps; beside them what to do, the slowest layers, and what was decided.
class OverviewPage final : public Page {
  Q_OBJECT
 public:
  explicit OverviewPage(QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;
  void Hover(std::optional<std::int64_t> step) override { charts_->Hover(step); }
  void Select(const QString& layer) override;

 private:
  OverviewCharts* const charts_;
  OverviewLists* const lists_;
};

}  // namespace weir::monitor
