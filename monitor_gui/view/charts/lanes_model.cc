#include "monitor_gui/view/charts/lanes_model.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "monitor_gui/run/layer_buckets.h"
#include "monitor_gui/view/style/units.h"

namespace weir::monitor {
namespace {

/// When a rank was in a step; nothing: never, or it is not known by itself any more.
std::optional<TimeWindow> StepOf(const RankRun& rank, std::optional<std::int64_t> step,
                                 std::int64_t shift_ns) {
  if (!step) return std::nullopt;
  const auto rows = rank.StepsUntil(*step, 1);
  if (rows.empty() || rows.back().step != *step) return std::nullopt;
  return TimeWindow{rows.back().start_ns - shift_ns, rows.back().end_ns - shift_ns};
}

}  // namespace

std::vector<LanesModel::Row> LanesModel::RowsOf(const Side& side, TimeWindow window,
                                                std::int64_t shift_ns,
                                                std::int64_t least_ns) const {
  const TimeWindow own{window.start_ns + shift_ns, window.end_ns + shift_ns};
  std::vector<Row> rows;
  for (const auto& [rank, known] : side.run.ranks()) {
    auto lanes = IntervalsOf(known, own, least_ns);
    for (LaneInterval& interval : lanes | std::views::join) {
      interval.start_ns -= shift_ns;
      interval.end_ns -= shift_ns;
    }
    const std::set<std::uint32_t> chosen =
        layer_.isEmpty() ? std::set<std::uint32_t>() : BucketsOf(known, layer_);
    std::vector<std::int64_t> steps;
    for (const LaneInterval& step : lanes[static_cast<std::size_t>(Lane::kBackprop)])
      steps.push_back(step.start_ns);
    for (int l = 0; l < kLanes; ++l) {
      rows.push_back({.label = side.label,
                      .is_other = side.is_other,
                      .rank = rank,
                      .lane = static_cast<Lane>(l),
                      .intervals = std::move(lanes[static_cast<std::size_t>(l)]),
                      .step_starts = steps,
                      .chosen = chosen,
                      .hovered = StepOf(known, hovered_step_, shift_ns)});
    }
  }
  return rows;
}

void LanesModel::Refresh(const Look& look, TimeWindow window, int width) {
  const std::int64_t least_ns = window.length_ns() / std::max(width, 1);
  std::vector<Row> rows;
  std::int64_t end_ns = 0;  // End of the first run's step.
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

void LanesModel::Hover(const Look& look, std::optional<std::int64_t> step) {
  hovered_step_ = step;
  const std::int64_t end_ns = look.sides().front().end_ns();
  for (Row& row : rows_) {
    const RankRun* const rank = RankOf(row, look);
    const std::int64_t shift_ns =
        row.is_other && look.other != nullptr ? look.sides().back().end_ns() - end_ns : 0;
    row.hovered = rank == nullptr ? std::nullopt : StepOf(*rank, step, shift_ns);
  }
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

const RankRun* LanesModel::RankOf(const Row& row, const Look& look) {
  const Run& run = row.is_other && look.other != nullptr ? *look.other : look.run;
  const auto rank = run.ranks().find(row.rank);
  return rank == run.ranks().end() ? nullptr : &rank->second;
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
  const RankRun* const rank = RankOf(of, look);
  if (rank == nullptr) return {};
  return tr("%1 of %2\n%3, step %4\n%5, %6%7")
      .arg(Name(at->stage), rank->NameOf(at->bucket).name, NameOf(of))
      .arg(at->step)
      .arg(time, bytes, at->ok ? QString() : tr(", failed"));
}

Table LanesModel::Export(const Look& look, std::int64_t origin_ns) const {
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  Table table{.header = {tr("Rank"), tr("Lane"), tr("Stage"), tr("Bucket"), tr("Step"),
                         tr("Operations"), WithUnit(tr("Start"), "s"), WithUnit(tr("Time"), "s"),
                         WithUnit(tr("Bytes"), "B"), tr("Well")},
              .rows = {}};
  for (const Row& row : rows_) {
    const RankRun* const rank = RankOf(row, look);
    const bool is_stage = row.lane != Lane::kBackprop;
    for (const LaneInterval& interval : row.intervals) {
      const bool is_one = is_stage && interval.count == 1 && rank != nullptr;
      table.rows.push_back(
          {NameOf(row), Name(row.lane), is_one ? QVariant(Name(interval.stage)) : QVariant(),
           is_one ? QVariant(rank->NameOf(interval.bucket).name) : QVariant(),
           static_cast<qlonglong>(interval.step), interval.count,
           seconds(interval.start_ns - origin_ns), seconds(interval.end_ns - interval.start_ns),
           is_stage ? QVariant(static_cast<qulonglong>(interval.bytes)) : QVariant(), interval.ok});
    }
  }
  return table;
}

}  // namespace weir::monitor
