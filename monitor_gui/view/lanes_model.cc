#include "monitor_gui/view/lanes_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "monitor_gui/view/units.h"

namespace weir::monitor {

std::vector<LanesModel::Row> LanesModel::RowsOf(const Side& side, TimeWindow window,
                                                std::int64_t shift_ns, std::int64_t least_ns) {
  const TimeWindow own{window.start_ns + shift_ns, window.end_ns + shift_ns};
  std::vector<Row> rows;
  for (const auto& [rank, known] : side.run.ranks()) {
    std::vector<std::int64_t> steps;
    for (int l = 0; l < kLanes; ++l) {
      const Lane lane = static_cast<Lane>(l);
      std::vector<LaneInterval> intervals = IntervalsOf(known, lane, own, least_ns);
      for (LaneInterval& interval : intervals) {
        interval.start_ns -= shift_ns;
        interval.end_ns -= shift_ns;
        if (lane == Lane::kBackprop) steps.push_back(interval.start_ns);
      }
      rows.push_back({.label = side.label,
                      .is_other = side.is_other,
                      .rank = rank,
                      .lane = lane,
                      .intervals = std::move(intervals),
                      .step_starts = steps});
    }
  }
  return rows;
}

void LanesModel::Refresh(const Look& look, TimeWindow window, int width) {
  const std::int64_t least_ns = window.length_ns() / std::max(width, 1);
  std::vector<Row> rows;
  std::int64_t end_ns = 0;  // Of the step of the first run.
  for (const Side& side : look.sides()) {
    if (!side.is_other) end_ns = side.end_ns();
    std::ranges::move(RowsOf(side, window, side.end_ns() - end_ns, least_ns),
                      std::back_inserter(rows));
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
  return tr("%1, %2").arg(NameOf(of), Name(of.lane));
}

QString LanesModel::NameOf(const Row& row) {
  return row.label.isEmpty() ? tr("rank %1").arg(row.rank)
                             : tr("rank %1 %2").arg(row.rank).arg(row.label);
}

QString LanesModel::Describe(int number, std::int64_t time_ns, const Look& look) const {
  const Row& of = row(number);
  const auto at = std::ranges::find_if(of.intervals, [&](const LaneInterval& interval) {
    return interval.start_ns <= time_ns && time_ns <= interval.end_ns;
  });
  if (at == of.intervals.end()) return {};
  const QString time = Seconds(static_cast<double>(at->end_ns - at->start_ns) * 1e-9);
  const QString bytes = Bytes(static_cast<double>(at->bytes));
  if (at->count > 1) {
    return tr("%1 of %2\n%3 operations in %4, %5\nzoom in to see them one by one")
        .arg(Name(of.lane), NameOf(of))
        .arg(at->count)
        .arg(time, bytes);
  }
  if (of.lane == Lane::kBackprop) {
    return tr("step %1 of %2\n%3 from its begin to its last gradient")
        .arg(at->step)
        .arg(NameOf(of), time);
  }
  const Run& run = of.is_other && look.other != nullptr ? *look.other : look.run;
  const auto rank = run.ranks().find(of.rank);
  if (rank == run.ranks().end()) return {};
  return tr("%1 of %2\n%3, step %4\n%5, %6%7")
      .arg(Name(at->stage), rank->second.NameOf(at->bucket).name, NameOf(of))
      .arg(at->step)
      .arg(time, bytes, at->ok ? QString() : tr(", failed"));
}

}  // namespace weir::monitor
