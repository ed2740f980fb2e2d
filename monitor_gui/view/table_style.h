#pragma once

#include <QTableView>

namespace weir::monitor {

/// How all tables look: whole rows are selected, every other one is shaded, and columns are as wide
/// as their texts but for one that takes what is left. Call it when the view has its model.
void StyleTable(QTableView& view, int stretched_column);

}  // namespace weir::monitor
