#include "monitor_gui/view/tables/layers_model.h"

#include <QLocale>
#include <QObject>

#include "monitor_gui/view/style/metric_text.h"

namespace weir::monitor {
namespace {

using Column = RowColumn<LayerRow>;

/// Returns the mean of a metric over ranks, or the largest value of a rank.
QVariant ValueOf(const LayerRow& row, Metric metric, bool of_worst) {
  const Statistic& newest = row.newest[static_cast<std::size_t>(metric)];
  if (newest.count == 0) return {};
  return static_cast<double>(of_worst ? newest.max : newest.mean());
}

Column MetricColumn(Metric metric, const QString& title, const QString& of, bool of_worst) {
  const auto value = [metric, of_worst](const LayerRow& row) {
    return ValueOf(row, metric, of_worst);
  };
  return {
      .head = {.title = title,
               .explanation = Explanation(metric) + " " + of,
               .is_number = true,
               .unit = Unit(metric)},
      .value = value,
      .text = [metric, value](const LayerRow& row) { return Text(metric, value(row).toDouble()); }};
}

Column MeanColumn(Metric metric) {
  return MetricColumn(
      metric, Name(metric),
      QObject::tr("Mean over ranks, of the newest steps that are drawn as one column."), false);
}

std::vector<Column> Columns() {
  const auto name = [](const LayerRow& row) { return row.layer.name; };
  const auto entries = [](const LayerRow& row) {
    return static_cast<qulonglong>(row.layer.elements);
  };
  const auto compressor = [](const LayerRow& row) { return row.layer.compressor; };
  return {
      {.head = {QObject::tr("Layer"), QObject::tr("As the program names its gradient.")},
       .value = name,
       .text = [](const LayerRow& row) { return row.layer.short_name(); },
       .tool_tip =
           [](const LayerRow& row) {
             return QObject::tr("%1\ngroup %2").arg(row.layer.name, row.layer.group);
           }},
      {.head = {.title = QObject::tr("Entries"),
                .explanation = QObject::tr("Of the gradient, before any compression."),
                .is_number = true},
       .value = entries,
       .text = [entries](const LayerRow& row) { return QLocale::c().toString(entries(row)); }},
      {.head = {QObject::tr("Compressor"), QObject::tr("What makes its payload.")},
       .value = compressor,
       .text = compressor},
      MeanColumn(Metric::kLatency),
      MetricColumn(Metric::kLatency, QObject::tr("Worst rank"),
                   QObject::tr("The rank that waited longest."), true),
      MeanColumn(Metric::kPayload),
      MeanColumn(Metric::kDensity),
      MeanColumn(Metric::kResidual),
  };
}

}  // namespace

LayersModel::LayersModel() : RowTable(Columns()) {}

void LayersModel::Refresh(const LayerHistory& history, const Moment& at) {
  std::vector<LayerRow> rows;
  rows.reserve(history.layers().size());
  for (std::size_t layer = 0; layer < history.layers().size(); ++layer)
    rows.push_back({history.layers()[layer], history.NewestOf(layer, at.step)});
  Show(std::move(rows));
}

}  // namespace weir::monitor
