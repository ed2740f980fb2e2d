#pragma once

#include <QAbstractListModel>
#include <optional>
#include <set>
#include <vector>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/run/lanes.h"
#include "monitor_gui/run/look.h"

namespace weir::monitor {

/// A row for each lane of each rank, with its intervals in a window of time. When two runs are
/// compared, their viewed steps end at the same place.
class LanesModel final : public QAbstractListModel {
  Q_OBJECT
 public:
  struct Row {
    QString label{};        ///< Label of the run, when there are two.
    bool is_other = false;  ///< Belongs to the compared run.
    int rank = 0;
    Lane lane = Lane::kBackprop;
    std::vector<LaneInterval> intervals{};
    std::vector<std::int64_t> step_starts{};
    std::set<std::uint32_t> chosen{};     ///< Buckets of the chosen layer; empty: there is none.
    std::optional<TimeWindow> hovered{};  ///< The step under the mouse.
  };
  using QAbstractListModel::QAbstractListModel;

  /// `width`: the window's, in pixels.
  void Refresh(const Look& look, TimeWindow window, int width);
  /// Shows where a step is, or none.
  void Hover(const Look& look, std::optional<std::int64_t> step);
  /// Shows from the next Refresh() on which intervals are of a layer; empty: of all.
  void Select(const QString& layer) { layer_ = layer; }

  int rowCount(const QModelIndex& parent = {}) const override;
  /// Qt::DisplayRole: "rank 3, exchange"; "rank 3 B, exchange".
  QVariant data(const QModelIndex& index, int role) const override;
  const Row& row(int number) const { return rows_[static_cast<std::size_t>(number)]; }
  /// Returns "rank 3", with the run's label where there are two.
  static QString NameOf(const Row& row);
  TimeWindow window() const { return window_; }

  /// Describes a moment of a row, for people; empty: nothing there. Needs the runs for names.
  QString Describe(int row, std::int64_t time_ns, const Look& look) const;

  /// Returns the shown intervals. Times are seconds since `origin_ns`.
  Table Export(const Look& look, std::int64_t origin_ns) const;

 private:
  static const RankRun* RankOf(const Row& row, const Look& look);
  std::vector<Row> RowsOf(const Side& side, TimeWindow window, std::int64_t shift_ns,
                          std::int64_t least_ns) const;
  std::vector<Row> rows_;
  TimeWindow window_;
  QString layer_;
  std::optional<std::int64_t> hovered_step_;
};

}  // namespace weir::monitor
