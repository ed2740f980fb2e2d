#include "metrics/steps/step_summary.h"

#include <utility>

namespace weir {
namespace {

// Bounds the memory of a program that never ends a step; one step has far fewer.
constexpr std::size_t kMostExchanges = 1 << 16;

}  // namespace

std::optional<StepSummary> StepSummaries::Add(const StageRecord& record) {
  if (record.stage == Stage::kStep) {
    return StepSummary{.step = record.step,
                       .start_ns = StartOf(record),
                       .begin_ns = record.start_ns,
                       .end_ns = record.end_ns,
                       .exposed = exposed_time_.EndStep(record),
                       .exchange_ns = ExchangeNs(record),
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
    if (exchanges_.size() >= kMostExchanges) exchanges_.clear();
    exchanges_.push_back({record.start_ns, record.end_ns});
  }
  return std::nullopt;
}

std::int64_t StepSummaries::StartOf(const StageRecord& step) {
  // A step of the same number, another optimizer's, also follows.
  const bool follows =
      (step.step == last_step_ || step.step == last_step_ + 1) && last_end_ns_ != 0;
  last_step_ = step.step;
  const std::int64_t last_end_ns = std::exchange(last_end_ns_, step.end_ns);
  return follows ? last_end_ns : step.start_ns;
}

std::int64_t StepSummaries::ExchangeNs(const StageRecord& step) {
  return CoveredNs(std::exchange(exchanges_, {}), {step.start_ns, step.end_ns});
}

}  // namespace weir
