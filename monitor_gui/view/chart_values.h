#pragma once

#include <QString>
#include <vector>

#include "monitor_gui/view/line_chart.h"

namespace weir::monitor {

/// What a chart's lines are at a place of its x axis, for people: a row for each line that has a
/// point, with that of its points which lies nearest. Empty: none has any.
QString ValuesAt(const LineChart& chart, double x);

}  // namespace weir::monitor
