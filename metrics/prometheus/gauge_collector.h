#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "metrics/gauges/engine_gauges.h"
#include "metrics/records/run_info.h"

namespace weir {

/// Reads EngineGauges and RunInfo at the moment of a scrape. Thread-safe; `gauges` must outlive it.
class GaugeCollector : public prometheus::Collectable {
 public:
  GaugeCollector(const RunInfo& info, const EngineGauges& gauges) : info_(info), gauges_(gauges) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const RunInfo info_;
  const EngineGauges& gauges_;
};

}  // namespace weir
