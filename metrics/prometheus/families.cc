#include "metrics/prometheus/families.h"

#include <string>

namespace weir {
namespace {

using prometheus::Registry;

prometheus::Family<prometheus::Counter>& Counters(Registry& registry, const std::string& name,
                                                  const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& Gauges(Registry& registry, const std::string& name,
                                              const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Histogram>& Histograms(Registry& registry, const std::string& name,
                                                      const std::string& help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

}  // namespace

prometheus::Histogram::BucketBoundaries TimeBuckets() {
  constexpr int kCount = 20;
  prometheus::Histogram::BucketBoundaries bounds;
  double bound = 100e-6;
  for (int i = 0; i < kCount; ++i, bound *= 2) bounds.push_back(bound);
  return bounds;
}

Families::Families(Registry& registry)
    : step_duration(Histograms(registry, "weir_step_duration_seconds",
                               "Time from the end of one optimizer step to the end of the next.")
                        .Add({}, TimeBuckets())),
      exposed_communication(
          Counters(
              registry, "weir_exposed_communication_seconds_total",
              "Time after a step's last gradient in which something was negotiated or exchanged.")
              .Add({})),
      exposed_compression(
          Counters(
              registry, "weir_exposed_compression_seconds_total",
              "Time after a step's last gradient in which something was only compressed or merged.")
              .Add({})),
      negotiation_duration(
          Histograms(registry, "weir_negotiation_duration_seconds",
                     "Time from complete on this rank to complete on all ranks, for each bucket.")
              .Add({}, TimeBuckets())),
      records_lost(Counters(registry, "weir_records_lost_total",
                            "Stage records that were overwritten before they were counted.")
                       .Add({})),
      stage_duration(
          Histograms(registry, "weir_stage_duration_seconds", "Time a bucket spent in a stage.")),
      queue_wait(Histograms(registry, "weir_queue_wait_seconds",
                            "Time a bucket waited for a stage after the one before it.")),
      collectives(Counters(registry, "weir_collectives_total", "Exchanges that ended.")),
      collective_duration(
          Histograms(registry, "weir_collective_duration_seconds", "Time of an exchange.")),
      payload_bytes(Counters(registry, "weir_payload_bytes_total",
                             "Bytes that this rank put into its exchanges.")),
      dense_equivalent_bytes(Counters(registry, "weir_dense_equivalent_bytes_total",
                                      "What the payload would have been without compression.")),
      density(Gauges(registry, "weir_gradient_density_ratio",
                     "Fraction of a group's gradient entries that it sent last.")),
      threshold(Gauges(registry, "weir_threshold",
                       "Mean magnitude from which a group's entries were sent last.")),
      residual_norm(
          Gauges(registry, "weir_residual_norm_ratio",
                 "Norm of what a group keeps back over that of its gradient, estimated.")),
      tensor_density(Gauges(registry, "weir_tensor_density_ratio",
                            "Fraction of a gradient's entries that it sent last.")),
      tensor_threshold(Gauges(registry, "weir_tensor_threshold",
                              "Magnitude from which a gradient's entries were sent last.")) {}

}  // namespace weir
