#include "monitor_gui/view/pages/chart_links.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "monitor_gui/run/plans.h"

namespace weir::monitor {

ChartLinks::ChartLinks(Page& page, std::vector<LineChart*> over_steps,
                       std::vector<LineChart*> over_seconds)
    : QObject(&page), over_steps_(std::move(over_steps)), over_seconds_(std::move(over_seconds)) {
  const auto join = [&page](LineChart* chart, auto step_of) {
    connect(chart, &LineChart::Hovered, &page, [&page, step_of](std::optional<double> x) {
      emit page.StepHovered(x ? std::optional(step_of(*x)) : std::nullopt);
    });
    connect(chart, &LineChart::Chosen, &page,
            [&page, step_of](double x) { emit page.StepChosen(step_of(x)); });
  };
  for (LineChart* chart : over_steps_)
    join(chart, [](double x) { return static_cast<std::int64_t>(std::llround(x)); });
  for (LineChart* chart : over_seconds_) join(chart, [this](double x) { return StepAt(x); });
}

void ChartLinks::Refresh(const Look& look) {
  const std::int64_t origin_ns = look.run.oldest_ns();
  times_.clear();
  if (!over_seconds_.empty() && !look.run.ranks().empty()) {
    for (const StepRow& row : look.run.ranks().begin()->second.steps())
      times_.push_back({static_cast<double>(row.end_ns - origin_ns) * 1e-9, row.step});
  }
  std::vector<LineChart::Event> events;
  for (const PlanChange& change : PlanChangesOf(look.run)) {
    if (!change.is_form || change.step == 0) continue;
    events.push_back({static_cast<double>(change.step),
                      tr("step %1: %2").arg(change.step).arg(change.what), !change.settled});
  }
  for (LineChart* chart : over_steps_) {
    chart->Mark(MarkOf(look.at));
    chart->SetEvents(events);
  }
  for (LineChart* chart : over_seconds_) chart->Mark(MarkOf(look.at, origin_ns));
}

std::int64_t ChartLinks::StepAt(double seconds) const {
  if (times_.empty()) return 0;
  const auto found = std::ranges::lower_bound(times_, seconds, {}, &Time::seconds);
  return found == times_.end() ? times_.back().step : found->step;
}

void ChartLinks::Hover(std::optional<std::int64_t> step) {
  for (LineChart* chart : over_steps_)
    chart->Hover(step ? std::optional(static_cast<double>(*step)) : std::nullopt);
  std::optional<double> seconds;
  if (step && !times_.empty()) {
    const auto found = std::ranges::lower_bound(times_, *step, {}, &Time::step);
    seconds = found == times_.end() ? times_.back().seconds : found->seconds;
  }
  for (LineChart* chart : over_seconds_) chart->Hover(seconds);
}

}  // namespace weir::monitor
