#pragma once

#include <QString>

#include "monitor_gui/run/layer_history.h"

namespace weir::monitor {

/// How a metric of layers is named, explained and written.
QString Name(Metric metric);
QString Explanation(Metric metric);
QString Text(Metric metric, double value);
/// Of its values as numbers: "s", "B", "ratio".
QString Unit(Metric metric);

}  // namespace weir::monitor
