#pragma once

#include <QTableView>

namespace weir::monitor {

/// Sets the common style of tables: whole rows are selected, every other one is shaded, and columns
/// are as wide as their texts except one that takes the rest. Call it when the view has its model.
void StyleTable(QTableView& view, int stretched_column);

/// Returns the height at which the view shows its rows, and one free line.
int ContentHeight(const QTableView& view);

}  // namespace weir::monitor
