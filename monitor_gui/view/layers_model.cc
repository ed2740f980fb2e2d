#include "monitor_gui/view/layers_model.h"

#include <QLocale>
#include <algorithm>
#include <utility>

#include "monitor_gui/view/metric_text.h"
#include "monitor_gui/view/roles.h"
#include "monitor_gui/view/units.h"

namespace weir::monitor {
namespace {

Metric MetricOf(int column) {
  switch (column) {
    case LayersModel::kPayload:
      return Metric::kPayload;
    case LayersModel::kDensity:
      return Metric::kDensity;
    case LayersModel::kResidual:
      return Metric::kResidual;
    default:
      return Metric::kLatency;
  }
}

QVariant AlignmentOf(int column) {
  const bool is_text = column == LayersModel::kName || column == LayersModel::kCompressor;
  return QVariant((is_text ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
}

}  // namespace

void LayersModel::Refresh(const LayerHistory& history, const Moment& at) {
  const auto& layers = history.layers();
  if (!std::ranges::equal(layers, rows_, {}, {}, &Row::layer)) {
    beginResetModel();
    rows_.clear();
    for (const LayerHistory::Layer& layer : layers) rows_.push_back({.layer = layer, .newest = {}});
    for (std::size_t layer = 0; layer < layers.size(); ++layer) Update(history, layer, at);
    endResetModel();
    return;
  }
  int first = -1;
  int last = -1;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (!Update(history, layer, at)) continue;
    last = static_cast<int>(layer);
    if (first < 0) first = last;
  }
  if (first >= 0) emit dataChanged(index(first, kLatency), index(last, kColumns - 1));
}

bool LayersModel::Update(const LayerHistory& history, std::size_t layer, const Moment& at) {
  std::array<Statistic, kMetrics> newest;
  for (std::size_t m = 0; m < kMetrics; ++m)
    newest[m] = history.Newest(static_cast<Metric>(m), layer, at.step);
  return std::exchange(rows_[layer].newest, newest) != newest;
}

int LayersModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int LayersModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant LayersModel::Value(const Row& row, int column) {
  switch (column) {
    case kName:
      return row.layer.name;
    case kEntries:
      return static_cast<qulonglong>(row.layer.elements);
    case kCompressor:
      return row.layer.compressor;
    default: {
      const Statistic& newest = row.newest[static_cast<std::size_t>(MetricOf(column))];
      if (newest.count == 0) return {};
      return static_cast<double>(column == kWorst ? newest.max : newest.mean());
    }
  }
}

QVariant LayersModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  QVariant value = Value(row, index.column());
  switch (role) {
    case kValueRole:
      return value;
    case Qt::TextAlignmentRole:
      return AlignmentOf(index.column());
    case Qt::DisplayRole:
      if (!value.isValid()) return QString("–");
      if (index.column() == kEntries) return QLocale::c().toString(value.toULongLong());
      if (index.column() < kLatency) return value;
      return Text(MetricOf(index.column()), value.toDouble());
    case Qt::ToolTipRole:
      if (index.column() != kName) return {};
      return tr("%1\ngroup %2").arg(row.layer.name, row.layer.group);
    default:
      return {};
  }
}

QVariant LayersModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) return AlignmentOf(section);
  if (role == Qt::ToolTipRole && section >= kLatency) {
    const QString over =
        section == kWorst
            ? tr(" The rank that waited longest.")
            : tr(" Mean over ranks, of the newest steps that are drawn as one column.");
    return Explanation(MetricOf(section)) + over;
  }
  if (role == kUnitRole && section >= kLatency) return Unit(MetricOf(section));
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kName:
      return tr("Layer");
    case kEntries:
      return tr("Entries");
    case kCompressor:
      return tr("Compressor");
    case kWorst:
      return tr("Worst rank");
    default:
      return Name(MetricOf(section));
  }
}

}  // namespace weir::monitor
