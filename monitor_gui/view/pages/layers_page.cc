#include "monitor_gui/view/pages/layers_page.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "monitor_gui/view/style/empty_text.h"
#include "monitor_gui/view/style/metric_text.h"
#include "monitor_gui/view/style/table_style.h"
#include "monitor_gui/view/tables/roles.h"
#include "monitor_gui/view/tables/view_table.h"

namespace weir::monitor {

LayersPage::LayersPage(bool compares, QWidget* parent)
    : Page(parent),
      compares_(compares),
      metric_(new QComboBox(this)),
      side_(new QComboBox(this)),
      filter_(new QLineEdit(this)),
      heat_map_(new HeatMap(this)),
      table_(new QTableView(this)) {
  for (int m = 0; m < kMetrics; ++m) {
    const Metric metric = static_cast<Metric>(m);
    metric_->addItem(Name(metric));
    metric_->setItemData(m, Explanation(metric), Qt::ToolTipRole);
  }
  metric_->setAccessibleName(tr("what the heat map shows"));
  filter_->setPlaceholderText(tr("Filter layers by a part of their name"));
  filter_->setClearButtonEnabled(true);

  side_->addItems({tr("of A"), tr("of B")});
  side_->setAccessibleName(tr("which run the heat map shows"));
  side_->setVisible(compares);

  sorted_.setSourceModel(compares ? static_cast<QAbstractItemModel*>(&compared_) : &model_);
  sorted_.setSortRole(kValueRole);
  sorted_.setFilterCaseSensitivity(Qt::CaseInsensitive);
  table_->setModel(&sorted_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(-1, Qt::AscendingOrder);  // In the order of registration.
  StyleTable(*table_, LayersModel::kName);
  // Two runs have more columns than fit.
  if (compares) {
    table_->horizontalHeader()->setSectionResizeMode(LayersModel::kName,
                                                     QHeaderView::ResizeToContents);
  }
  new EmptyText(*table_, tr("No layer of this name has sent a gradient yet."));

  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 8, 8, 4);
  auto* label = new QLabel(tr("Heat map of"), this);
  label->setBuddy(metric_);
  bar->addWidget(label);
  bar->addWidget(metric_);
  bar->addWidget(side_);
  bar->addWidget(filter_, 1);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->addWidget(heat_map_);
  splitter->addWidget(table_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(bar);
  layout->addWidget(splitter, 1);

  const auto show = [this] { emit RefreshWanted(); };
  for (QComboBox* box : {metric_, side_}) connect(box, &QComboBox::currentIndexChanged, this, show);
  connect(filter_, &QLineEdit::textChanged, this, [this, show](const QString& text) {
    // Row by row, the table would lay itself out hundreds of times.
    QAbstractItemModel* const layers = sorted_.sourceModel();
    sorted_.setSourceModel(nullptr);
    sorted_.setFilterFixedString(text);
    sorted_.setSourceModel(layers);
    show();
  });
  connect(table_->horizontalHeader(), &QHeaderView::sortIndicatorChanged, this, show);
  connect(heat_map_, &HeatMap::Resized, this, show, Qt::QueuedConnection);
  connect(heat_map_, &HeatMap::Hovered, this, &Page::StepHovered);
  connect(heat_map_, &HeatMap::Chosen, this, [this](std::int64_t step, const QString& layer) {
    emit StepChosen(step);
    emit LayerChosen(layer);
  });
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
    emit LayerChosen(index.siblingAtColumn(0).data(kValueRole).toString());
  });
}

Metric LayersPage::metric() const { return static_cast<Metric>(metric_->currentIndex()); }

void LayersPage::Refresh(const Look& look) {
  if (compares_ && look.other != nullptr) {
    compared_.Refresh(look);
  } else {
    model_.Refresh(look.run.layers(), look.at);
  }
  // The layer may not have been there when it was chosen.
  if (!selected_.isEmpty() && !table_->selectionModel()->hasSelection()) SelectRow();
  const std::vector<Side> sides = look.sides();
  ShowHeatMap(sides[std::min(static_cast<std::size_t>(side_->currentIndex()), sides.size() - 1)]);
}

std::optional<std::size_t> LayersPage::LayerOf(int row, const Side& side) const {
  const int source = sorted_.mapToSource(sorted_.index(row, 0)).row();
  if (compares_) {
    const ComparedLayer& layer = compared_.rows()[static_cast<std::size_t>(source)].layer;
    return side.is_other ? layer.in_b : layer.in_a;
  }
  return static_cast<std::size_t>(source);
}

void LayersPage::ShowHeatMap(const Side& side) {
  const LayerHistory& layers = side.run.layers();
  std::vector<std::size_t> order;
  for (int row = 0; row < sorted_.rowCount(); ++row) {
    const auto layer = LayerOf(row, side);
    if (layer && *layer < layers.layers().size()) order.push_back(*layer);
  }
  heat_map_->Mark(side.at.step);
  heat_map_->Show(layers, metric(), order);
}

void LayersPage::Select(const QString& layer) {
  const bool is_another = layer != selected_;
  selected_ = layer;
  heat_map_->Select(layer);
  if (is_another) SelectRow();
}

void LayersPage::SelectRow() {
  for (int row = 0; row < sorted_.rowCount(); ++row) {
    const QModelIndex name = sorted_.index(row, 0);
    if (name.data(kValueRole).toString() != selected_) continue;
    table_->selectRow(row);
    return table_->scrollTo(name);
  }
  table_->clearSelection();
}

Table LayersPage::Export(const Look& /*look*/) const { return TableOf(*table_); }

}  // namespace weir::monitor
