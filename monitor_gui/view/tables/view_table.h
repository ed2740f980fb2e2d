#pragma once

#include <QTableView>
#include <vector>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/view/charts/line_chart.h"

namespace weir::monitor {

/// Exports a table as shown, in its order and without hidden columns: the numbers behind the texts,
/// in the units of the columns (view/tables/roles.h).
Table TableOf(const QTableView& view);

/// Exports the lines of charts, a column each: lines over the same axis side by side, by x, and
/// those over another axis below. All points, also those too close to be drawn.
Table TableOf(const std::vector<const LineChart*>& charts);

}  // namespace weir::monitor
