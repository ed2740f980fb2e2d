#pragma once

#include <QColor>

namespace weir::monitor {

/// Returns the colour of a cell of the heat map whose value is 0 to 1 of the map's range: Viridis
/// (Smith and van der Walt, 2015), in which larger is lighter, for any colour vision.
QColor HeatColor(double value);

}  // namespace weir::monitor
