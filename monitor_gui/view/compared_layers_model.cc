#include "monitor_gui/view/compared_layers_model.h"

#include <cmath>
#include <utility>

#include "monitor_gui/view/metric_text.h"
#include "monitor_gui/view/roles.h"
#include "monitor_gui/view/units.h"

namespace weir::monitor {
namespace {

Metric MetricOf(int column) {
  return static_cast<Metric>((column - ComparedLayersModel::kFirstMetric) / 2);
}

bool IsDifference(int column) { return (column - ComparedLayersModel::kFirstMetric) % 2 == 1; }

QVariant AlignmentOf(int column) {
  const bool is_text = column < ComparedLayersModel::kFirstMetric;
  return QVariant((is_text ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
}

QString InText(const ComparedLayer& layer) {
  if (layer.in_a && layer.in_b) return QObject::tr("both");
  return layer.in_a ? QObject::tr("only A") : QObject::tr("only B");
}

QString Signed(Metric metric, double difference, double of) {
  if (difference == 0) return Text(metric, 0);
  const QString sign = difference < 0 ? "−" : "+";
  QString size = sign + Text(metric, std::abs(difference));
  if (of <= 0) return size;
  return QObject::tr("%1 (%2%3)").arg(size, sign, Percent(std::abs(difference) / of));
}

std::array<Statistic, kMetrics> NewestOf(const LayerHistory& history,
                                         std::optional<std::size_t> layer, const Moment& at) {
  std::array<Statistic, kMetrics> newest{};
  if (!layer) return newest;
  for (std::size_t m = 0; m < kMetrics; ++m)
    newest[m] = history.Newest(static_cast<Metric>(m), *layer, at.step);
  return newest;
}

}  // namespace

void ComparedLayersModel::Refresh(const Look& look) {
  const LayerHistory& a = look.run.layers();
  const LayerHistory& b = look.other->layers();
  std::vector<Row> rows;
  for (const ComparedLayer& layer : CompareLayers(a, b)) {
    const LayerHistory::Layer& first =
        layer.in_a ? a.layers()[*layer.in_a] : b.layers()[*layer.in_b];
    QString compressor = first.compressor;
    if (layer.in_a && layer.in_b && b.layers()[*layer.in_b].compressor != compressor)
      compressor += " / " + b.layers()[*layer.in_b].compressor;
    rows.push_back({.layer = layer,
                    .name = first.name,
                    .compressor = compressor,
                    .a = NewestOf(a, layer.in_a, look.at),
                    .b = NewestOf(b, layer.in_b, look.other_at)});
  }
  if (rows.size() == rows_.size()) {
    rows_ = std::move(rows);
    if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
    return;
  }
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int ComparedLayersModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int ComparedLayersModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant ComparedLayersModel::Value(const Row& row, int column) {
  switch (column) {
    case kName:
      return row.name;
    case kIn:
      return InText(row.layer);
    case kCompressor:
      return row.compressor;
    default: {
      const auto m = static_cast<std::size_t>(MetricOf(column));
      if (row.a[m].count == 0 || (IsDifference(column) && row.b[m].count == 0)) return {};
      const double a = static_cast<double>(row.a[m].mean());
      return IsDifference(column) ? static_cast<double>(row.b[m].mean()) - a : a;
    }
  }
}

QString ComparedLayersModel::Text(const Row& row, int column) {
  const QVariant value = Value(row, column);
  if (!value.isValid()) return "–";
  if (column < kFirstMetric) return value.toString();
  const Metric metric = MetricOf(column);
  if (!IsDifference(column)) return monitor::Text(metric, value.toDouble());
  return Signed(metric, value.toDouble(),
                static_cast<double>(row.a[static_cast<std::size_t>(metric)].mean()));
}

QVariant ComparedLayersModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case kValueRole:
      return Value(row, index.column());
    case Qt::DisplayRole:
      return Text(row, index.column());
    case Qt::TextAlignmentRole:
      return AlignmentOf(index.column());
    default:
      return {};
  }
}

QVariant ComparedLayersModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) return AlignmentOf(section);
  if (section >= kFirstMetric) {
    const Metric metric = MetricOf(section);
    switch (role) {
      case Qt::DisplayRole:
        return IsDifference(section) ? tr("%1 B − A").arg(Name(metric))
                                     : tr("%1 A").arg(Name(metric));
      case Qt::ToolTipRole:
        return Explanation(metric) +
               (IsDifference(section) ? tr(" By how much more that is in B, and in parts of A's.")
                                      : tr(" Mean over A's ranks."));
      case kUnitRole:
        return Unit(metric);
      default:
        return {};
    }
  }
  const bool explains = role == Qt::ToolTipRole;
  if (!explains && role != Qt::DisplayRole) return {};
  switch (section) {
    case kName:
      return explains ? tr("Layers are the same when their names are.") : tr("Layer");
    case kIn:
      return explains ? tr("Which of the runs has it.") : tr("In");
    default:
      return explains ? tr("What makes its payload, in A and in B.") : tr("Compressor");
  }
}

}  // namespace weir::monitor
