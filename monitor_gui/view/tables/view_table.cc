#include "monitor_gui/view/tables/view_table.h"

#include <QStringList>
#include <map>

#include "monitor_gui/view/tables/roles.h"

namespace weir::monitor {
namespace {

/// Shortens "Density: part of ..." to "Density".
QString ShortTitle(const LineChart& chart) { return chart.title().section(':', 0, 0); }

/// Adds the charts over one axis.
void AddCharts(const QString& axis, const std::vector<const LineChart*>& charts, Table& table) {
  const qsizetype x_column = table.header.size();
  table.header += axis;
  std::map<double, QVariantList> by_x;
  for (const LineChart* chart : charts) {
    if (chart->x_title() != axis) continue;
    for (const LineChart::Line& line : chart->lines()) {
      const qsizetype column = table.header.size();
      table.header += WithUnit(ShortTitle(*chart) + ", " + line.name, chart->unit());
      for (const QPointF& point : line.points) {
        QVariantList& row = by_x[point.x()];
        row.resize(std::max(row.size(), column + 1));
        row[x_column] = point.x();
        row[column] = point.y();
      }
    }
  }
  for (auto& [x, row] : by_x) table.rows.push_back(std::move(row));
}

}  // namespace

Table TableOf(const QTableView& view) {
  const QAbstractItemModel& model = *view.model();
  Table table;
  std::vector<int> columns;
  for (int column = 0; column < model.columnCount(); ++column) {
    if (view.isColumnHidden(column)) continue;
    columns.push_back(column);
    table.header += WithUnit(model.headerData(column, Qt::Horizontal).toString(),
                             model.headerData(column, Qt::Horizontal, kUnitRole).toString());
  }
  for (int row = 0; row < model.rowCount(); ++row) {
    QVariantList& values = table.rows.emplace_back();
    for (const int column : columns) values += model.index(row, column).data(kValueRole);
  }
  return table;
}

Table TableOf(const std::vector<const LineChart*>& charts) {
  Table table;
  QStringList axes;
  for (const LineChart* chart : charts) {
    if (axes.contains(chart->x_title())) continue;
    axes += chart->x_title();
    AddCharts(axes.back(), charts, table);
  }
  return table;
}

}  // namespace weir::monitor
