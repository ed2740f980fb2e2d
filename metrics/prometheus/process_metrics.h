#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace weir {

/// The usual metrics of Prometheus's client libraries about their process, under
/// their usual names: CPU seconds, memory, open files, start. From /proc; unreadable
/// ones are left out. Thread-safe.
std::vector<prometheus::MetricFamily> ProcessMetrics();

}  // namespace weir
