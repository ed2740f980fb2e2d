#include "monitor_gui/view/charts/chart_values.h"

#include <QLocale>
#include <QStringList>
#include <cmath>

namespace weir::monitor {
namespace {

constexpr int kDigits = 4;
constexpr double kNear = 5;  // Pixels.

QString ValueText(const LineChart& chart, double value) {
  if (chart.value_format() != nullptr) return chart.value_format()(value);
  const QString number = QLocale::c().toString(value, 'g', kDigits);
  return chart.unit().isEmpty() ? number : number + " " + chart.unit();
}

}  // namespace

QString ValuesAt(const LineChart& chart, double x) {
  QStringList rows;
  for (const LineChart::Line& line : chart.lines()) {
    if (line.points.isEmpty()) continue;
    const QPointF& point = NearestPoint(line.points, x);
    if (rows.isEmpty())
      rows += QString("%1 %2").arg(chart.x_title(), QLocale::c().toString(point.x(), 'g', 8));
    rows += QString("%1: %2").arg(line.name, ValueText(chart, point.y()));
  }
  for (const LineChart::Event& event : chart.events()) {
    if (std::abs(chart.XOf(event.x) - chart.XOf(x)) <= kNear) rows += event.text;
  }
  return rows.join('\n');
}

}  // namespace weir::monitor
