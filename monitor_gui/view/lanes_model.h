#pragma once

#include <QAbstractListModel>
#include <vector>

#include "monitor_gui/run/lanes.h"

namespace weir::monitor {

/// A row for each lane of each rank, with what it shows of a window of time.
class LanesModel final : public QAbstractListModel {
  Q_OBJECT
 public:
  struct Row {
    int rank = 0;
    Lane lane = Lane::kBackprop;
    std::vector<LaneInterval> intervals{};
    std::vector<std::int64_t> step_starts{};
  };
  using QAbstractListModel::QAbstractListModel;

  /// `width`: pixels that the window takes.
  void Refresh(const Run& run, TimeWindow window, int width);

  int rowCount(const QModelIndex& parent = {}) const override;
  /// Qt::DisplayRole: "rank 3, exchange".
  QVariant data(const QModelIndex& index, int role) const override;
  const Row& row(int number) const { return rows_[static_cast<std::size_t>(number)]; }
  TimeWindow window() const { return window_; }

  /// What lies at a moment of a row, for people; empty: nothing. Needs the run for names.
  QString Describe(int row, std::int64_t time_ns, const Run& run) const;

 private:
  std::vector<Row> rows_;
  TimeWindow window_;
};

}  // namespace weir::monitor
