#include "metrics/gauges/engine_sample.h"

#include <algorithm>

namespace weir {

EngineSample Sample(const EngineGauges& gauges, std::int64_t now_ns) {
  EngineSample sample{.time_ns = now_ns,
                      .sent_bytes = gauges.sent_bytes,
                      .received_bytes = gauges.received_bytes,
                      .negotiation_bytes = gauges.negotiation_bytes(),
                      .fast_rounds = gauges.fast_rounds,
                      .slow_rounds = gauges.slow_rounds,
                      .stalled_tensors = gauges.stalled_tensors};
  std::ranges::transform(gauges.queue_depth, sample.queue_depth.begin(),
                         [](const auto& depth) { return depth.load(); });
  return sample;
}

}  // namespace weir
