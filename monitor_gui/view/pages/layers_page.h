#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <optional>

#include "monitor_gui/view/charts/heat_map.h"
#include "monitor_gui/view/pages/page.h"
#include "monitor_gui/view/tables/compared_layers_model.h"
#include "monitor_gui/view/tables/layers_model.h"

namespace weir::monitor {

/// The layers: a heat map over steps, and a table that sorts and filters both. For two runs the
/// table shows the differences, and the map either run.
class LayersPage final : public Page {
  Q_OBJECT
 public:
  /// `compares`: for two runs.
  explicit LayersPage(bool compares, QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;
  void Hover(std::optional<std::int64_t> step) override { heat_map_->Hover(step); }
  void Select(const QString& layer) override;

 private:
  void SelectRow();
  Metric metric() const;
  void ShowHeatMap(const Side& side);
  /// Returns the number of a row's layer in a run; nothing if the run does not have it.
  std::optional<std::size_t> LayerOf(int row, const Side& side) const;

  const bool compares_;
  LayersModel model_;
  ComparedLayersModel compared_;
  QSortFilterProxyModel sorted_;
  QComboBox* const metric_;
  QComboBox* const side_;  // The run that the map shows.
  QLineEdit* const filter_;
  HeatMap* const heat_map_;
  QTableView* const table_;
  QString selected_;
};

}  // namespace weir::monitor
