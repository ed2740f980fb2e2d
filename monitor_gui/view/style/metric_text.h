#pragma once

#include <QString>

#include "monitor_gui/run/layer_history.h"

namespace weir::monitor {

/// Name, explanation and notation of a layer metric.
QString Name(Metric metric);
QString Explanation(Metric metric);
QString Text(Metric metric, double value);
/// Unit of its values as numbers: "s", "B", "ratio".
QString Unit(Metric metric);

}  // namespace weir::monitor
