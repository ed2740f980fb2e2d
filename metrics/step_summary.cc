#include "metrics/step_summary.h"

#include <utility>

namespace weir {

std::optional<StepSummary> StepSummaries::Add(const StageRecord& record) {
  if (record.stage == Stage::kStep) {
    return StepSummary{.step = record.step,
                       .start_ns = record.start_ns,
                       .end_ns = record.end_ns,
                       .exposed = exposed_time_.EndStep(record),
                       .payload_bytes = std::exchange(payload_bytes_, 0),
                       .dense_bytes = std::exchange(dense_bytes_, 0),
                       .target_density = record.density};
  }
  if (!IsOfBucket(record.stage)) return std::nullopt;
  exposed_time_.Add(record, names_.Find(record.bucket).compressor != "none");
  // Single operations between steps have no step, and are not part of one.
  if (record.stage == Stage::kExchange && record.ok && record.step >= 0) {
    payload_bytes_ += record.bytes_in;
    dense_bytes_ += record.bytes_out;
  }
  return std::nullopt;
}

}  // namespace weir
