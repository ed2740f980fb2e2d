#include "metrics/steps/step_recorder.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

/// The mean, each group counting by how much it has to exchange.
float DensityOf(const StageRecord& one, const StageRecord& other) {
  const auto weight = static_cast<double>(one.bytes_in);
  const auto other_weight = static_cast<double>(other.bytes_in);
  if (weight + other_weight == 0.0) return one.density;
  return static_cast<float>((weight * static_cast<double>(one.density) +
                             other_weight * static_cast<double>(other.density)) /
                            (weight + other_weight));
}

}  // namespace

StepRecorder::GroupPart::GroupPart(StepRecorder& steps, std::int64_t start_ns)
    : steps_(steps), start_ns_(start_ns) {
  steps_.Open();
}

StepRecorder::GroupPart::~GroupPart() { steps_.Close(); }

void StepRecorder::GroupPart::End(StageRecord part, std::int64_t end_ns) {
  part.stage = Stage::kStep;
  part.start_ns = start_ns_;
  part.end_ns = end_ns;
  steps_.Add(part);
}

void StepRecorder::Open() {
  const std::lock_guard lock(mutex_);
  ++open_;
  Write();
}

void StepRecorder::Add(const StageRecord& part) {
  const std::lock_guard lock(mutex_);
  if (!step_) {
    step_ = part;
    return;
  }
  step_->density = DensityOf(*step_, part);
  step_->start_ns = std::min(step_->start_ns, part.start_ns);
  step_->end_ns = std::max(step_->end_ns, part.end_ns);
  step_->step = std::max(step_->step, part.step);
  step_->bytes_in += part.bytes_in;
  step_->bytes_out += part.bytes_out;
}

void StepRecorder::Close() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) Write();
}

void StepRecorder::Write() {
  if (step_) recorder_.Add(*std::exchange(step_, std::nullopt));
}

}  // namespace weir
