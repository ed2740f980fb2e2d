#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace weir {

/// What Prometheus's client libraries usually say of their process, under their usual names: CPU
/// seconds, memory, open files, start. From /proc; what cannot be read there is left out.
/// Thread-safe.
std::vector<prometheus::MetricFamily> ProcessMetrics();

}  // namespace weir
