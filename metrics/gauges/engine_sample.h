#pragma once

#include <array>
#include <cstdint>

#include "metrics/gauges/engine_gauges.h"
#include "metrics/records/record.h"

namespace weir {

/// Values of EngineGauges at one moment. Counts are totals since the start.
struct EngineSample {
  std::int64_t time_ns = 0;  ///< CLOCK_MONOTONIC.
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t negotiation_bytes = 0;
  std::uint64_t fast_rounds = 0;
  std::uint64_t slow_rounds = 0;
  std::int64_t stalled_tensors = 0;
  std::array<std::int64_t, kBucketStageCount> queue_depth{};  ///< By Stage.
};

EngineSample Sample(const EngineGauges& gauges, std::int64_t now_ns);

}  // namespace weir
