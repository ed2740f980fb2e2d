#include "monitor_gui/view/charts/heat_grid.h"

#include <algorithm>

namespace weir::monitor {
namespace {

/// Returns `value` / `by`, rounded up.
int Parts(int value, int by) { return (value + by - 1) / by; }

}  // namespace

std::size_t HeatGrid::RowBegin(int row) const {
  const auto rows = static_cast<std::size_t>(std::max(size_.rows, 1));
  return (static_cast<std::size_t>(row) * order_.size() + rows - 1) / rows;
}

std::int64_t HeatGrid::StepOf(int column) const {
  return first_step_ + column * steps_per_column();
}

void HeatGrid::Prepare(const LayerHistory& history, Metric metric,
                       const std::vector<std::size_t>& order, Size most) {
  const int rows = std::min(most.rows, static_cast<int>(order.size()));
  const int per_column = std::max(1, Parts(history.columns(), most.columns));
  // A residual is measured now and then and holds until the next measurement, over all columns.
  const bool same = metric != Metric::kResidual && &history == history_ && metric == metric_ &&
                    rows == size_.rows && per_column == per_column_ &&
                    history.first_step() == first_step_ &&
                    history.steps_per_column() == steps_per_history_column_ && order == order_;
  if (same) return;
  history_ = &history;
  metric_ = metric;
  order_ = order;
  size_ = {.rows = rows, .columns = 0};
  per_column_ = per_column;
  first_step_ = history.first_step();
  steps_per_history_column_ = history.steps_per_column();
  row_of_.resize(order.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    row_of_[place] = static_cast<int>(place * static_cast<std::size_t>(rows) / order.size());
  cells_.clear();
  ranges_.clear();
  revisions_.clear();
}

void HeatGrid::Update(const LayerHistory& history, Metric metric,
                      const std::vector<std::size_t>& order, Size most) {
  Prepare(history, metric, order, most);
  standing_.assign(metric == Metric::kResidual ? order.size() : 0, {});
  size_.columns = order.empty() ? 0 : Parts(history.columns(), per_column_);
  const auto columns = static_cast<std::size_t>(size_.columns);
  cells_.resize(columns * static_cast<std::size_t>(size_.rows));
  ranges_.resize(columns);
  revisions_.resize(columns);
  changed_.clear();
  for (int column = 0; column < size_.columns; ++column) {
    const int end = std::min((column + 1) * per_column_, history.columns());
    std::uint64_t revision = 0;
    for (int of = column * per_column_; of < end; ++of)
      revision = std::max(revision, history.RevisionOf(of));
    auto& made = revisions_[static_cast<std::size_t>(column)];
    if (revision == made) continue;
    made = revision;
    Make(history, column);
    changed_.push_back(column);
  }
  FitRange();
}

void HeatGrid::Make(const LayerHistory& history, int column) {
  Statistic* const cells =
      cells_.data() + static_cast<std::size_t>(column) * static_cast<std::size_t>(size_.rows);
  std::fill_n(cells, size_.rows, Statistic{});
  const int end = std::min((column + 1) * per_column_, history.columns());
  for (int of = column * per_column_; of < end; ++of) {
    const auto values = history.Cells(metric_, of);
    for (std::size_t place = 0; place < order_.size(); ++place) {
      Statistic value = order_[place] < values.size() ? values[order_[place]] : Statistic{};
      if (!standing_.empty()) {
        if (value.count > 0) standing_[place] = value;
        value = standing_[place];
      }
      cells[row_of_[place]].Add(value);
    }
  }
  Range& range = ranges_[static_cast<std::size_t>(column)];
  range = {.low = 1e30, .high = 0};
  for (int row = 0; row < size_.rows; ++row) {
    if (cells[row].count == 0) continue;
    const double mean = std::max<double>(cells[row].mean(), kSmallest);
    range = {.low = std::min(range.low, mean), .high = std::max(range.high, mean)};
  }
}

void HeatGrid::FitRange() {
  range_ = {.low = 1e30, .high = 0};
  for (const Range& range : ranges_) {
    range_.low = std::min(range_.low, range.low);
    range_.high = std::max(range_.high, range.high);
  }
}

}  // namespace weir::monitor
