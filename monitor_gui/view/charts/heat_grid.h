#pragma once

#include <cstdint>
#include <vector>

#include "monitor_gui/run/layer_history.h"

namespace weir::monitor {

/// Layers by steps, reduced to as many cells as can be drawn. A cell has the smallest value, the
/// largest and the mean of the layers, steps and ranks that it covers. Knows no widget, and
/// recomputes only columns that have changed. Not thread-safe.
class HeatGrid {
 public:
  struct Size {
    int rows = 0;
    int columns = 0;
  };
  /// Range of the means of all cells; high 0: nothing is known.
  struct Range {
    double low = 0;
    double high = 0;
    bool operator==(const Range&) const = default;
  };

  /// Lower limit for logarithms.
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
  /// Columns that the last update recomputed.
  const std::vector<int>& changed() const { return changed_; }
  /// Places in the order that a row covers: from RowBegin(row) up to RowBegin(row + 1).
  std::size_t RowBegin(int row) const;
  /// The first step of a column; for the column after the last, the step where it would begin.
  std::int64_t StepOf(int column) const;
  std::int64_t steps_per_column() const { return per_column_ * steps_per_history_column_; }

 private:
  /// Forgets everything if anything but the values has changed.
  void Prepare(const LayerHistory& history, Metric metric, const std::vector<std::size_t>& order,
               Size most);
  void Make(const LayerHistory& history, int column);
  void FitRange();

  const LayerHistory* history_ = nullptr;  ///< Only to notice another one.
  Metric metric_ = Metric::kLatency;
  std::vector<std::size_t> order_;
  std::vector<int> row_of_;  ///< By place in the order.
  Size size_;
  int per_column_ = 1;  ///< Columns of the history.
  std::int64_t first_step_ = -1;
  std::int64_t steps_per_history_column_ = 1;
  std::vector<Statistic> cells_;  ///< Column by column.
  std::vector<Range> ranges_;     ///< By column.
  Range range_;
  std::vector<Statistic> standing_;       ///< By place in the order: the last measured values.
  std::vector<std::uint64_t> revisions_;  ///< By column, when it was made.
  std::vector<int> changed_;
};

}  // namespace weir::monitor
