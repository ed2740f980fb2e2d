#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "monitor_gui/run/look.h"
#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/pages/page.h"

namespace weir::monitor {

/// Joins the charts of a page with what all pages share: the step under the mouse, the step that
/// is chosen, and where plans have changed.
class ChartLinks final : public QObject {
  Q_OBJECT
 public:
  /// `over_steps` have steps on their x axis, `over_seconds` seconds since the run's begin. They
  /// are the page's.
  ChartLinks(Page& page, std::vector<LineChart*> over_steps,
             std::vector<LineChart*> over_seconds = {});

  /// Takes over the moment, the changes of plans, and when each step was.
  void Refresh(const Look& look);
  void Hover(std::optional<std::int64_t> step);

 private:
  struct Time {
    double seconds = 0.0;  ///< End of the step.
    std::int64_t step = 0;
  };
  std::int64_t StepAt(double seconds) const;

  const std::vector<LineChart*> over_steps_;
  const std::vector<LineChart*> over_seconds_;
  std::vector<Time> times_;
};

}  // namespace weir::monitor
