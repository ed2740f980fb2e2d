#include "monitor_gui/run/moment.h"

#include <algorithm>
#include <span>

namespace weir::monitor {
namespace {

/// Returns the steps of the rank that knows most.
std::span<const StepRow> Steps(const Run& run) {
  std::span<const StepRow> most;
  for (const auto& [rank, known] : run.ranks()) {
    if (known.steps().size() > most.size()) most = known.steps();
  }
  return most;
}

/// Returns the index of the last element whose `member` is not above, or 0.
template <typename Member>
std::size_t LastUpTo(std::span<const StepRow> steps, std::int64_t value, Member member) {
  const auto behind = std::ranges::upper_bound(steps, value, {}, member);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(behind - steps.begin() - 1, 0));
}

}  // namespace

Moment MomentOf(const Run& run, std::int64_t step) {
  if (step == Moment::kNewest) return {};
  Moment moment{.step = -1, .end_ns = 0};
  for (const auto& [rank, known] : run.ranks()) {
    const auto steps = known.StepsUntil(step, 1);
    if (steps.empty()) continue;
    moment.step = std::max(moment.step, steps.back().step);
    moment.end_ns = std::max(moment.end_ns, steps.back().end_ns);
  }
  return moment;
}

StepSpan StepsOf(const Run& run) {
  const auto steps = Steps(run);
  if (steps.empty()) return {};
  return {.first = steps.front().step, .last = steps.back().step};
}

std::int64_t StepFrom(const Run& run, std::int64_t step, std::int64_t by) {
  const auto steps = Steps(run);
  if (steps.empty()) return step;
  const auto at = static_cast<std::int64_t>(LastUpTo(steps, step, &StepRow::step)) + by;
  return steps[static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, std::ssize(steps) - 1))]
      .step;
}

std::int64_t StepAt(const Run& run, std::int64_t time_ns) {
  const auto steps = Steps(run);
  return steps.empty() ? -1 : steps[LastUpTo(steps, time_ns, &StepRow::end_ns)].step;
}

}  // namespace weir::monitor
