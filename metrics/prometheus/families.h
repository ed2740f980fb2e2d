#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace weir {

/// Upper bounds of every histogram of time: powers of two from 100 us to 52 s, in seconds.
prometheus::Histogram::BucketBoundaries TimeBuckets();

/// The metrics made from records, registered under their names;
/// docs/reference/monitoring.md says what each one means.
struct Families {
  explicit Families(prometheus::Registry& registry);

  prometheus::Histogram& step_duration;
  prometheus::Counter& exposed_communication;
  prometheus::Counter& exposed_compression;
  prometheus::Histogram& negotiation_duration;
  prometheus::Counter& records_lost;

  prometheus::Family<prometheus::Histogram>& stage_duration;        // stage, compressor
  prometheus::Family<prometheus::Histogram>& queue_wait;            // stage
  prometheus::Family<prometheus::Counter>& collectives;             // op, route, result
  prometheus::Family<prometheus::Histogram>& collective_duration;   // op, route, result
  prometheus::Family<prometheus::Counter>& payload_bytes;           // compressor
  prometheus::Family<prometheus::Counter>& dense_equivalent_bytes;  // compressor
  prometheus::Family<prometheus::Gauge>& density;                   // group
  prometheus::Family<prometheus::Gauge>& threshold;                 // group
  prometheus::Family<prometheus::Gauge>& residual_norm;             // group
  prometheus::Family<prometheus::Gauge>& tensor_density;            // tensor
  prometheus::Family<prometheus::Gauge>& tensor_threshold;          // tensor
};

}  // namespace weir
