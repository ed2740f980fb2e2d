#include "monitor_gui/run/replay.h"

#include <algorithm>

namespace weir::monitor {

void Replay::SetSteps(StepSpan steps) {
  steps_ = steps;
  if (steps.is_empty() || step_ > steps.last || step_ < steps.first) Follow();
}

std::int64_t Replay::step() const {
  if (steps_.is_empty()) return -1;
  return following_ ? steps_.last : step_;
}

void Replay::GoTo(std::int64_t step) {
  playing_ = false;
  following_ = steps_.is_empty() || step >= steps_.last;
  step_ = steps_.is_empty() ? -1 : std::clamp(step, steps_.first, steps_.last);
}

void Replay::Hold() {
  step_ = step();
  playing_ = false;
  following_ = steps_.is_empty();
}

void Replay::Play(const Run& run, std::int64_t now_ns) {
  if (steps_.is_empty()) return;
  const std::int64_t from = step() == steps_.last ? steps_.first : step_;
  if (from == steps_.last) return;  // The only one.
  GoTo(from);
  playing_ = true;
  offset_ns_ = MomentOf(run, from).end_ns - now_ns;
}

void Replay::Advance(const Run& run, std::int64_t now_ns) {
  if (!playing_) return;
  step_ = std::max(step_, StepAt(run, now_ns + offset_ns_));
  if (step_ >= steps_.last) Follow();
}

}  // namespace weir::monitor
