#include <QLocale>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/style/theme.h"

// How a chart of lines looks.

namespace weir::monitor {
namespace {

constexpr double kPen = 1.6;
constexpr int kSample = 16;  // Width of a line's sample in the title's line.
constexpr int kSpace = 8;
constexpr int kPlacePixels = 76;  // Between two numbers of the x axis.

/// From values of two axes to places in an area.
struct Mapping {
  const QRectF area;
  const ChartAxis& x_axis;
  const ChartAxis& y_axis;

  double x(double value) const { return area.left() + x_axis.PlaceOf(value) * area.width(); }
  double y(double value) const { return area.bottom() - y_axis.PlaceOf(value) * area.height(); }
  QPointF operator()(const QPointF& point) const { return {x(point.x()), y(point.y())}; }
};

/// Holds each point's value until half-way to the next one.
QPolygonF Steps(const QPolygonF& points) {
  QPolygonF steps;
  for (qsizetype i = 0; i < points.size(); ++i) {
    const QPointF& point = points[i];
    const double half = points.size() == 1 ? 2.0
                        : i == 0           ? (points[1].x() - point.x()) / 2
                                           : (point.x() - points[i - 1].x()) / 2;
    const double next =
        i + 1 == points.size() ? point.x() + half : (point.x() + points[i + 1].x()) / 2;
    steps.append({point.x() - half, point.y()});
    steps.append({next, point.y()});
  }
  return steps;
}

}  // namespace

QStringList LineChart::LegendTexts() const {
  QStringList texts;
  for (const Line& line : lines_) {
    if (line.points.isEmpty()) continue;
    const auto at = cursor();
    const double value = (at ? NearestPoint(line.points, *at) : line.points.back()).y();
    texts += line.name + " " +
             (format_ != nullptr ? format_(value) : QLocale::c().toString(value, 'g', 3));
  }
  return texts;
}

void LineChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  PaintHeader(painter);
  if (drawn_.empty()) {
    painter.setPen(Theme::Of(palette()).faint);
    painter.drawText(plot_area(), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
    return;
  }
  PaintAxes(painter);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setClipRect(plot_area().adjusted(-2, -2, 2, 2));
  PaintLines(painter);
  PaintEvents(painter);
  PaintCursor(painter);
}

void LineChart::PaintHeader(QPainter& painter) const {
  const Theme theme = Theme::Of(palette());
  const int base = 5 + fontMetrics().ascent();
  const int middle = 6 + fontMetrics().height() / 2;
  QFont bold = font();
  bold.setWeight(QFont::DemiBold);
  painter.setFont(bold);
  painter.setPen(palette().color(QPalette::Text));
  // Behind the colon stands what the title means: only where there is room.
  const QStringList legend = LegendTexts();
  int needed = 0;
  for (const QString& text : legend)
    needed += fontMetrics().horizontalAdvance(text) + kSample + 3 * kSpace;
  const QFontMetrics metrics(bold);
  QString title = title_;
  if (metrics.horizontalAdvance(title) + needed > width() - 4 * kSpace)
    title = title.section(':', 0, 0);
  int x = kSpace;
  painter.drawText(x, base, title);
  x += metrics.horizontalAdvance(title) + kSpace;
  painter.setFont(font());
  painter.setPen(theme.faint);
  if (!unit_.isEmpty() && format_ == nullptr) {
    const QString unit = "[" + unit_ + "]";
    painter.drawText(x, base, unit);
    x += fontMetrics().horizontalAdvance(unit) + kSpace;
  }
  x += kSpace;
  qsizetype entry = 0;
  for (const Line& line : lines_) {
    if (line.points.isEmpty()) continue;
    const QString& text = legend[entry++];
    const int end = x + kSample + kSpace + fontMetrics().horizontalAdvance(text);
    if (end > width()) break;
    if (is_stacked_) {
      painter.fillRect(x + 4, middle - 5, 10, 10, line.color);
    } else {
      painter.setPen(QPen(line.color, 2, line.style));
      painter.drawLine(x, middle, x + kSample, middle);
    }
    painter.setPen(theme.faint);
    painter.drawText(x + kSample + kSpace / 2 + 1, base, text);
    x = end + kSpace;
  }
}

void LineChart::PaintAxes(QPainter& painter) const {
  const Theme theme = Theme::Of(palette());
  const Mapping place{plot_area(), x_, y_};
  const QRectF& area = place.area;
  const int height = fontMetrics().height();
  for (const double tick : y_.Ticks(Ticks())) {
    const double y = std::round(place.y(tick)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme.faint);
    painter.drawText(QRectF(0, y - height / 2.0, area.left() - 6, height),
                     Qt::AlignRight | Qt::AlignVCenter, LabelOf(tick));
  }
  const int most = std::max(1, static_cast<int>(area.width() / kPlacePixels));
  for (const double tick : x_.Ticks(most)) {
    const double x = std::round(place.x(tick)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    if (!has_places_) continue;
    painter.setPen(theme.faint);
    painter.drawText(QRectF(x - kPlacePixels / 2.0, area.bottom() + 8, kPlacePixels, height),
                     Qt::AlignHCenter, QLocale::c().toString(tick, 'g', 8));
  }
  if (!has_places_) return;
  // Left of the first number there is room for what they mean, and no line is lost.
  const double first = place.x(x_.Ticks(most).front());
  const double room = std::max(area.left() - 6, first - kPlacePixels / 3.0);
  painter.drawText(QRectF(0, area.bottom() + 8, room, height), Qt::AlignRight,
                   fontMetrics().elidedText(x_title_, Qt::ElideRight, static_cast<int>(room)));
}

void LineChart::PaintLines(QPainter& painter) const {
  const Mapping place{plot_area(), x_, y_};
  const QRectF& area = place.area;
  // A stack's highest area lies below the others.
  for (std::size_t i = drawn_.size(); i-- > 0;) {
    const Line& line = drawn_[i];
    QPolygonF curve;
    for (const QPointF& point : line.points) curve.append(place(point));
    if (is_stacked_) curve = Steps(curve);
    if (curve.size() == 1) curve.append(curve[0] + QPointF(3, 0));
    if (curve.isEmpty()) continue;
    if (is_stacked_ && line.style == Qt::SolidLine) {
      QPolygonF filled = curve;
      filled.append({curve.back().x(), area.bottom()});
      filled.append({curve.front().x(), area.bottom()});
      painter.setPen(Qt::NoPen);
      painter.setBrush(line.color);
      painter.drawPolygon(filled);
    } else {
      painter.setPen(QPen(line.color, kPen, line.style));
      painter.setBrush(Qt::NoBrush);
      painter.drawPolyline(curve);
    }
  }
}

void LineChart::PaintEvents(QPainter& painter) const {
  const Mapping place{plot_area(), x_, y_};
  const QRectF& area = place.area;
  QColor color = palette().color(QPalette::Text);
  for (const Event& event : events_) {
    if (event.x < x_.low || event.x > x_.high) continue;
    color.setAlphaF(event.is_faint ? 0.25f : 0.7f);
    const double x = place.x(event.x);
    painter.setPen(QPen(color, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(
        QPolygonF({{x - 4, area.top() - 2}, {x + 4, area.top() - 2}, {x, area.top() + 4}}));
  }
}

void LineChart::PaintCursor(QPainter& painter) const {
  const Mapping place{plot_area(), x_, y_};
  const QRectF& area = place.area;
  const Theme theme = Theme::Of(palette());
  const auto line_at = [&](double value, const QColor& color) {
    painter.setPen(QPen(color, 1));
    const double x = place.x(value);
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  };
  double last = x_.low;
  for (const Line& line : drawn_) {
    if (!line.points.isEmpty()) last = std::max(last, line.points.back().x());
  }
  // The end is not marked.
  if (mark_ && *mark_ >= x_.low && *mark_ < last) line_at(*mark_, theme.accent);
  if (!hover_ || *hover_ < x_.low || *hover_ > x_.high) return;
  line_at(*hover_, palette().color(QPalette::Text));
  for (const Line& line : drawn_) {
    if (line.points.isEmpty()) continue;
    const QPointF& point = NearestPoint(line.points, *hover_);
    painter.setPen(QPen(palette().color(QPalette::Base), 1));
    painter.setBrush(line.color);
    painter.drawEllipse(place(point), 3.5, 3.5);
  }
}

}  // namespace weir::monitor
