#pragma once

#include <QAbstractTableModel>
#include <array>
#include <vector>

#include "monitor_gui/run/comparison.h"
#include "monitor_gui/run/look.h"

namespace weir::monitor {

/// A row for each layer of two runs: what A's step was like, and by how much B's differs. Layers
/// are the same when their names are.
class ComparedLayersModel final : public QAbstractTableModel {
  Q_OBJECT
 public:
  /// Behind kFirstMetric a column for each metric's value in A, and one for the difference to it.
  enum Column { kName, kIn, kCompressor, kFirstMetric };
  static constexpr int kColumns = kFirstMetric + 2 * kMetrics;

  using QAbstractTableModel::QAbstractTableModel;
  /// Of a look at two runs.
  void Refresh(const Look& look);
  const ComparedLayer& layer(int row) const { return rows_[static_cast<std::size_t>(row)].layer; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  /// With kValueRole for every column.
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    ComparedLayer layer;
    QString name;
    QString compressor;
    std::array<Statistic, kMetrics> a{};
    std::array<Statistic, kMetrics> b{};
  };
  static QVariant Value(const Row& row, int column);
  static QString Text(const Row& row, int column);
  std::vector<Row> rows_;
};

}  // namespace weir::monitor
