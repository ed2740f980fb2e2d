#pragma once

#include <QString>
#include <vector>

#include "monitor_gui/view/charts/line_chart.h"

namespace weir::monitor {

/// Returns the values of a chart's lines at a place of its x axis, for people: a row for each line
/// with points, with its nearest point. Empty: no line has points.
QString ValuesAt(const LineChart& chart, double x);

}  // namespace weir::monitor
