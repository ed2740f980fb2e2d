#pragma once

#include <cstdint>
#include <vector>

#include "monitor_gui/run/layer_history.h"

namespace weir::monitor {

/// Layers by steps, brought to so many cells as can be drawn: a cell has the smallest value, the
/// largest and the mean of the layers, steps and ranks that it covers. Knows no widget, and makes
/// only those columns anew that have changed. Not thread-safe.
class HeatGrid {
 public:
  struct Size {
    int rows = 0;
    int columns = 0;
  };
  /// The means of all cells lie between these; high 0: nothing is known.
  struct Range {
    double low = 0;
    double high = 0;
    bool operator==(const Range&) const = default;
  };

  /// What a logarithm is taken of is not smaller.
  static constexpr double kSmallest = 1e-9;

  /// `order`: the layers to show, from above. `most`: cells; at least one each way.
  void Update(const LayerHistory& history, Metric metric, const std::vector<std::size_t>& order,
              Size most);

  Size size() const { return size_; }
  const Statistic& At(int row, int column) const {
    return cells_[static_cast<std::size_t>(column) * static_cast<std::size_t>(size_.rows) +
                  static_cast<std::size_t>(row)];
  }
  const Range& range() const { return range_; }
  /// Columns that the last update made anew.
  const std::vector<int>& changed() const { return changed_; }
  /// Places in the order that a row covers: from RowBegin(row) up to RowBegin(row + 1).
  std::size_t RowBegin(int row) const;
  /// The first step of a column; of the one behind the last, where it would begin.
  std::int64_t StepOf(int column) const;
  std::int64_t steps_per_column() const { return per_column_ * steps_per_history_column_; }

 private:
  /// Forgets all where something else than the values has changed.
  void Prepare(const LayerHistory& history, Metric metric, const std::vector<std::size_t>& order,
               Size most);
  void Make(const LayerHistory& history, int column);
  void FitRange();

  const LayerHistory* history_ = nullptr;  ///< Only to tell whether it is another one.
  Metric metric_ = Metric::kLatency;
  std::vector<std::size_t> order_;
  std::vector<int> row_of_;  ///< By place in the order.
  Size size_;
  int per_column_ = 1;  ///< Columns of the history.
  std::int64_t first_step_ = -1;
  std::int64_t steps_per_history_column_ = 1;
  std::vector<Statistic> cells_;  ///< Column by column.
  std::vector<Range> ranges_;     ///< Of columns.
  Range range_;
  std::vector<Statistic> standing_;       ///< By place in the order: what was measured last.
  std::vector<std::uint64_t> revisions_;  ///< Of columns, when they were made.
  std::vector<int> changed_;
};

}  // namespace weir::monitor
