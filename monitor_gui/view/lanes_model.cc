#include "monitor_gui/view/lanes_model.h"

#include <algorithm>

#include "monitor_gui/view/units.h"

namespace weir::monitor {

void LanesModel::Refresh(const Run& run, TimeWindow window, int width) {
  const std::int64_t least_ns = window.length_ns() / std::max(width, 1);
  std::vector<Row> rows;
  for (const auto& [rank, known] : run.ranks()) {
    std::vector<std::int64_t> steps;
    for (const LaneInterval& step : IntervalsOf(known, Lane::kBackprop, window, 0))
      steps.push_back(step.start_ns);
    for (int l = 0; l < kLanes; ++l) {
      const Lane lane = static_cast<Lane>(l);
      rows.push_back({.rank = rank,
                      .lane = lane,
                      .intervals = IntervalsOf(known, lane, window, least_ns),
                      .step_starts = steps});
    }
  }
  window_ = window;
  if (rows.size() == rows_.size()) {
    rows_ = std::move(rows);
    if (!rows_.empty()) emit dataChanged(index(0), index(static_cast<int>(rows_.size()) - 1));
    return;
  }
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int LanesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant LanesModel::data(const QModelIndex& index, int role) const {
  if (role != Qt::DisplayRole || !index.isValid()) return {};
  const Row& of = row(index.row());
  return tr("rank %1, %2").arg(of.rank).arg(Name(of.lane));
}

QString LanesModel::Describe(int number, std::int64_t time_ns, const Run& run) const {
  const Row& of = row(number);
  const auto at = std::ranges::find_if(of.intervals, [&](const LaneInterval& interval) {
    return interval.start_ns <= time_ns && time_ns <= interval.end_ns;
  });
  if (at == of.intervals.end()) return {};
  const QString time = Seconds(static_cast<double>(at->end_ns - at->start_ns) * 1e-9);
  if (at->count > 1) {
    return tr("%1 of rank %2\n%3 operations in %4, %5\nzoom in to see them one by one")
        .arg(Name(of.lane))
        .arg(of.rank)
        .arg(at->count)
        .arg(time, Bytes(static_cast<double>(at->bytes)));
  }
  if (of.lane == Lane::kBackprop) {
    return tr("step %1 of rank %2\n%3 from its begin to its last gradient")
        .arg(at->step)
        .arg(of.rank)
        .arg(time);
  }
  return tr("%1 of %2\nrank %3, step %4\n%5, %6%7")
      .arg(Name(at->stage), run.ranks().at(of.rank).NameOf(at->bucket).name)
      .arg(of.rank)
      .arg(at->step)
      .arg(time, Bytes(static_cast<double>(at->bytes)), at->ok ? QString() : tr(", failed"));
}

}  // namespace weir::monitor
