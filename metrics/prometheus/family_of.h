#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace weir {

/// A family of counters or gauges under construction, for collectors of values that live elsewhere:
/// Value(labels, value) adds a series.
class FamilyOf {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  FamilyOf(prometheus::MetricType type, std::string name, std::string help) {
    family_.type = type;
    family_.name = std::move(name);
    family_.help = std::move(help);
  }
  /// Makes a family of one series without labels.
  static FamilyOf One(prometheus::MetricType type, std::string name, std::string help,
                      double value) {
    FamilyOf family(type, std::move(name), std::move(help));
    family.Value({}, value);
    return family;
  }

  FamilyOf& Value(Labels labels, double value) {
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    const bool counts = family_.type == prometheus::MetricType::Counter;
    (counts ? metric.counter.value : metric.gauge.value) = value;
    return *this;
  }
  operator prometheus::MetricFamily() && {  // NOLINT(google-explicit-constructor)
    return std::move(family_);
  }

 private:
  prometheus::MetricFamily family_;
};

}  // namespace weir
