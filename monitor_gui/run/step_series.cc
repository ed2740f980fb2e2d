#include "monitor_gui/run/step_series.h"

#include <algorithm>

#include "monitor_gui/run/plans.h"

namespace weir::monitor {

StepParts StepPartsOf(const RankRun& rank) {
  StepParts parts;
  for (const StepRow& row : rank.steps()) {
    const auto x = static_cast<double>(row.step);
    const auto seconds = [&](std::int64_t ns) {
      return static_cast<double>(ns) * 1e-9 / row.count;
    };
    const double communication = seconds(row.exposed_communication_ns);
    const double compression = seconds(row.exposed_compression_ns);
    parts.own.append({x, std::max(0.0, seconds(row.duration_ns()) - communication - compression)});
    parts.compression.append({x, compression});
    parts.communication.append({x, communication});
  }
  return parts;
}

ByteRates ByteRatesOf(const RankRun& rank) {
  ByteRates rates;
  const auto& states = rank.states();
  const auto& steps = rank.steps();
  auto step = steps.begin();
  for (std::size_t i = 1; i < states.size(); ++i) {
    const StateRow& before = states[i - 1];
    const StateRow& now = states[i];
    const double seconds = static_cast<double>(now.time_ns - before.time_ns) * 1e-9;
    double dense = 0;
    std::int64_t number = -1;
    for (; step != steps.end() && step->end_ns <= now.time_ns; ++step) {
      number = step->step;
      if (step->end_ns > before.time_ns)
        dense += step->count * static_cast<double>(step->dense_bytes);
    }
    if (seconds <= 0 || number < 0) continue;
    const auto x = static_cast<double>(number);
    rates.sent.append({x, static_cast<double>(now.sent_bytes - before.sent_bytes) / seconds});
    rates.dense.append({x, dense / seconds});
  }
  return rates;
}

StepSeries NetworkLimitOf(const Run& run) {
  StepSeries limit;
  const StepSpan steps = StepsOf(run);
  if (run.ranks().empty() || steps.is_empty()) return limit;
  for (const GroupPlan& plan : run.ranks().begin()->second.plans()) {
    const auto x = static_cast<double>(plan.from_step);
    if (!plan.network_bytes_per_second || x > static_cast<double>(steps.last)) continue;
    if (!limit.isEmpty()) limit.append({x, limit.back().y()});
    limit.append({x, *plan.network_bytes_per_second});
  }
  if (!limit.isEmpty()) limit.append({static_cast<double>(steps.last), limit.back().y()});
  return limit;
}

StepSeries ConfiguredDensityOf(const Run& run) {
  StepSeries points;
  if (run.ranks().empty()) return points;
  for (const StepRow& step : run.ranks().begin()->second.steps())
    points.append({static_cast<double>(step.step), static_cast<double>(step.target_density)});
  return points;
}

StepSeries SeriesOf(const LayerMeans& means, std::optional<double> LayerMeans::Mean::*what,
                    const Run& run) {
  StepSeries points;
  const StepSpan finished = StepsOf(run);
  std::int64_t step = run.layers().first_step();
  for (const LayerMeans::Mean& mean : means.means()) {
    if (!finished.is_empty() && step > finished.last) break;
    if (mean.*what) points.append({static_cast<double>(step), *(mean.*what)});
    step += run.layers().steps_per_column();
  }
  return points;
}

}  // namespace weir::monitor
