#include "monitor_gui/view/charts/chart_values.h"

#include <QLocale>
#include <QStringList>
#include <algorithm>

namespace weir::monitor {
namespace {

constexpr int kDigits = 4;

/// `points`: by x, at least one.
const QPointF& Nearest(const QList<QPointF>& points, double x) {
  const auto behind = std::ranges::lower_bound(points, x, {}, &QPointF::x);
  if (behind == points.end()) return points.back();
  if (behind == points.begin()) return points.front();
  const auto before = behind - 1;
  return x - before->x() <= behind->x() - x ? *before : *behind;
}

QString Number(double value) { return QLocale::c().toString(value, 'g', kDigits); }

}  // namespace

QString ValuesAt(const LineChart& chart, double x) {
  QStringList rows;
  for (const LineChart::Line& line : chart.lines()) {
    if (line.points.isEmpty()) continue;
    const QPointF& point = Nearest(line.points, x);
    if (rows.isEmpty())
      rows += QString("%1 %2").arg(chart.x_title(), QLocale::c().toString(point.x(), 'g', 8));
    QString row = QString("%1: %2").arg(line.name, Number(point.y()));
    if (!chart.unit().isEmpty()) row += " " + chart.unit();
    rows += row;
  }
  return rows.join('\n');
}

}  // namespace weir::monitor
