#include "monitor_gui/view/charts/chart_line.h"

#include <algorithm>
#include <utility>

namespace weir::monitor {

ChartLine LineOf(const Side& side, const QString& name, const QColor& color, QList<QPointF> points,
                 Part part) {
  const bool is_reference = part == Part::kReference;
  const Qt::PenStyle own = is_reference ? Qt::DotLine : Qt::SolidLine;
  const Qt::PenStyle others = is_reference ? Qt::DashDotLine : Qt::DashLine;
  return {.name = side.label.isEmpty() ? name : name + " " + side.label,
          .color = color,
          .points = std::move(points),
          .style = side.is_other ? others : own};
}

QList<QPointF> Decimated(const QList<QPointF>& points, qsizetype most) {
  if (points.size() <= most) return points;
  QList<QPointF> kept;
  const qsizetype parts = std::max<qsizetype>(most / 2, 1);
  for (qsizetype part = 0; part < parts; ++part) {
    const auto begin = points.begin() + part * points.size() / parts;
    const auto end = points.begin() + (part + 1) * points.size() / parts;
    const auto [low, high] = std::minmax_element(
        begin, end, [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); });
    kept.append(*std::min(low, high));
    if (low != high) kept.append(*std::max(low, high));
  }
  return kept;
}

const QPointF& NearestPoint(const QList<QPointF>& points, double x) {
  const auto behind = std::ranges::lower_bound(points, x, {}, &QPointF::x);
  if (behind == points.end()) return points.back();
  if (behind == points.begin()) return points.front();
  const auto before = behind - 1;
  return x - before->x() <= behind->x() - x ? *before : *behind;
}

std::optional<double> MarkOf(const Moment& at) {
  if (at.is_newest() || at.step < 0) return std::nullopt;
  return static_cast<double>(at.step);
}

std::optional<double> MarkOf(const Moment& at, std::int64_t origin_ns) {
  if (at.is_newest() || at.step < 0) return std::nullopt;
  return static_cast<double>(at.end_ns - origin_ns) * 1e-9;
}

}  // namespace weir::monitor
