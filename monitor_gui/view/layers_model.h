#pragma once

#include <QAbstractTableModel>
#include <array>
#include <vector>

#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// A row for each layer, with what its newest step was like, or another: means over ranks.
class LayersModel final : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    kName,
    kEntries,
    kCompressor,
    kLatency,
    kWorst,
    kPayload,
    kDensity,
    kResidual,
    kColumns
  };
  using QAbstractTableModel::QAbstractTableModel;
  void Refresh(const LayerHistory& history, const Moment& at = {});

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    LayerHistory::Layer layer;
    std::array<Statistic, kMetrics> newest;
  };
  /// Whether the layer's row says something else now.
  bool Update(const LayerHistory& history, std::size_t layer, const Moment& at);
  static QVariant Value(const Row& row, int column);
  std::vector<Row> rows_;
};

}  // namespace weir::monitor
