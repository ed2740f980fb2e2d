#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>

#include "monitor_gui/view/heat_map.h"
#include "monitor_gui/view/layers_model.h"
#include "monitor_gui/view/page.h"

namespace weir::monitor {

/// The layers: a heat map over steps, and a table that sorts and filters both.
class LayersPage final : public Page {
  Q_OBJECT
 public:
  explicit LayersPage(const SharedRun& run, QWidget* parent = nullptr);
  void Refresh(const Look& look) override;

 private:
  Metric metric() const;
  void ShowHeatMap(const Run& run);

  const SharedRun& run_;
  LayersModel model_;
  QSortFilterProxyModel sorted_;
  QComboBox* const metric_;
  QLineEdit* const filter_;
  HeatMap* const heat_map_;
  QTableView* const table_;
};

}  // namespace weir::monitor
