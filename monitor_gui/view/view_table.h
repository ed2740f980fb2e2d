#pragma once

#include <QTableView>
#include <vector>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/view/line_chart.h"

namespace weir::monitor {

/// What a table shows, in its order and without the columns that are hidden: the numbers behind the
/// texts, in the units of the columns (view/roles.h).
Table TableOf(const QTableView& view);

/// The lines of charts, a column each: those over the same axis beside each other, by x, and those
/// over another one below them. All points, also those that are too close to be drawn.
Table TableOf(const std::vector<const LineChart*>& charts);

}  // namespace weir::monitor
