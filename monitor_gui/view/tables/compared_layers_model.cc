#include "monitor_gui/view/tables/compared_layers_model.h"

#include <QObject>
#include <cmath>

#include "monitor_gui/view/style/metric_text.h"
#include "monitor_gui/view/style/units.h"

namespace weir::monitor {
namespace {

using Column = RowColumn<ComparedLayerRow>;

QString InText(const ComparedLayerRow& row) {
  if (row.layer.in_a && row.layer.in_b) return QObject::tr("both");
  return row.layer.in_a ? QObject::tr("only A") : QObject::tr("only B");
}

QString Signed(Metric metric, double difference, double of) {
  if (difference == 0) return Text(metric, 0);
  const QString sign = difference < 0 ? "−" : "+";
  QString size = sign + Text(metric, std::abs(difference));
  if (of <= 0) return size;
  return QObject::tr("%1 (%2%3)").arg(size, sign, Percent(std::abs(difference) / of));
}

/// Invalid where a run does not know it.
QVariant MeanOf(const std::array<Statistic, kMetrics>& newest, Metric metric) {
  const Statistic& statistic = newest[static_cast<std::size_t>(metric)];
  if (statistic.count == 0) return {};
  return static_cast<double>(statistic.mean());
}

QVariant DifferenceOf(const ComparedLayerRow& row, Metric metric) {
  const QVariant a = MeanOf(row.a, metric);
  const QVariant b = MeanOf(row.b, metric);
  if (!a.isValid() || !b.isValid()) return {};
  return b.toDouble() - a.toDouble();
}

Column OfA(Metric metric) {
  const auto value = [metric](const ComparedLayerRow& row) { return MeanOf(row.a, metric); };
  return {.head = {.title = QObject::tr("%1 A").arg(Name(metric)),
                   .explanation = Explanation(metric) + QObject::tr(" Mean over A's ranks."),
                   .is_number = true,
                   .unit = Unit(metric)},
          .value = value,
          .text = [metric, value](const ComparedLayerRow& row) {
            return Text(metric, value(row).toDouble());
          }};
}

Column Difference(Metric metric) {
  const auto value = [metric](const ComparedLayerRow& row) { return DifferenceOf(row, metric); };
  return {
      .head = {.title = QObject::tr("%1 B − A").arg(Name(metric)),
               .explanation = Explanation(metric) +
                              QObject::tr(" By how much more that is in B, and in parts of A's."),
               .is_number = true,
               .unit = Unit(metric)},
      .value = value,
      .text = [metric, value](const ComparedLayerRow& row) {
        return Signed(metric, value(row).toDouble(), MeanOf(row.a, metric).toDouble());
      }};
}

std::vector<Column> Columns() {
  const auto name = [](const ComparedLayerRow& row) { return row.name; };
  const auto compressor = [](const ComparedLayerRow& row) { return row.compressor; };
  std::vector<Column> columns{
      {.head = {QObject::tr("Layer"), QObject::tr("Layers are the same when their names are.")},
       .value = name,
       .text = name},
      {.head = {QObject::tr("In"), QObject::tr("Which of the runs has it.")},
       .value = InText,
       .text = InText},
      {.head = {QObject::tr("Compressor"), QObject::tr("What makes its payload, in A and in B.")},
       .value = compressor,
       .text = compressor}};
  for (int m = 0; m < kMetrics; ++m) {
    columns.push_back(OfA(static_cast<Metric>(m)));
    columns.push_back(Difference(static_cast<Metric>(m)));
  }
  return columns;
}

std::array<Statistic, kMetrics> NewestOf(const LayerHistory& history,
                                         std::optional<std::size_t> layer, const Moment& at) {
  if (!layer) return {};
  return history.NewestOf(*layer, at.step);
}

}  // namespace

ComparedLayersModel::ComparedLayersModel() : RowTable(Columns()) {}

void ComparedLayersModel::Refresh(const Look& look) {
  const LayerHistory& a = look.run.layers();
  const LayerHistory& b = look.other->layers();
  std::vector<ComparedLayerRow> rows;
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
  Show(std::move(rows));
}

}  // namespace weir::monitor
