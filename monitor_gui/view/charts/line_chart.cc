#include "monitor_gui/view/charts/line_chart.h"

#include <QHelpEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <iterator>
#include <utility>

#include "monitor_gui/view/charts/chart_values.h"
#include "monitor_gui/view/style/units.h"

namespace weir::monitor {
namespace {

constexpr int kRight = 14;
constexpr int kGap = 6;  // Between a label and the plot.
constexpr int kTickPixels = 34;

/// Each line on the sum of those before it, at its own places.
std::vector<ChartLine> Stacked(std::vector<ChartLine> lines) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const QList<QPointF>& below = lines[i - 1].points;
    if (below.isEmpty()) continue;
    for (qsizetype p = 0; p < lines[i].points.size(); ++p) {
      QPointF& point = lines[i].points[p];
      const bool is_same = p < below.size() && below[p].x() == point.x();
      point.ry() += (is_same ? below[p] : NearestPoint(below, point.x())).y();
    }
  }
  return lines;
}

}  // namespace

LineChart::LineChart(const QString& title, const QString& x_title, const QString& unit, Scale scale,
                     QWidget* parent)
    : QWidget(parent), scale_(scale), title_(title), x_title_(x_title), unit_(unit) {
  setAccessibleName(title);
  setMouseTracking(true);
  setBackgroundRole(QPalette::Base);
  setAutoFillBackground(true);
  peers_ = {this};
}

void LineChart::Show(const std::vector<Line>& lines) {
  lines_ = lines;
  drawn_.clear();
  std::ranges::copy_if(lines, std::back_inserter(drawn_),
                       [](const Line& line) { return !line.points.isEmpty(); });
  if (is_stacked_) drawn_ = Stacked(std::move(drawn_));
  x_ = places_ ? *places_ : FitPlaces(drawn_);
  y_ = FitValues(drawn_, scale_, is_clipped_);
  for (Line& line : drawn_) {
    if (scale_ == Scale::kLogarithmic)
      line.points.removeIf([](const QPointF& point) { return point.y() <= 0; });
    line.points = Decimated(line.points, std::max(width(), 2));
  }
  Measure();
  for (LineChart* chart : peers_) chart->update();  // Labels may have become wider.
}

void LineChart::Mark(std::optional<double> x) {
  if (mark_ != x) update();
  mark_ = x;
}

void LineChart::Hover(std::optional<double> x) {
  if (hover_ != x) update();
  hover_ = x;
}

void LineChart::SetEvents(std::vector<Event> events) {
  events_ = std::move(events);
  update();
}

void LineChart::Align(const std::vector<LineChart*>& charts) {
  for (LineChart* chart : charts) chart->peers_ = charts;
}

int LineChart::HeaderHeight() const { return fontMetrics().height() + 14; }

int LineChart::Ticks() const {
  const double places = has_places_ ? fontMetrics().height() + 10 : 8;
  return std::max(2, static_cast<int>((height() - HeaderHeight() - places) / kTickPixels));
}

QString LineChart::LabelOf(double value) const {
  return format_ != nullptr ? Rounded(format_(value)) : QLocale::c().toString(value, 'g', 6);
}

void LineChart::Measure() {
  label_width_ = has_places_ ? fontMetrics().horizontalAdvance(x_title_) : 0;
  if (drawn_.empty()) return;
  for (const double tick : y_.Ticks(Ticks()))
    label_width_ = std::max(label_width_, fontMetrics().horizontalAdvance(LabelOf(tick)));
}

QRectF LineChart::plot_area() const {
  int labels = 0;
  for (const LineChart* chart : peers_) labels = std::max(labels, chart->label_width_);
  const double left = labels + 2 * kGap;
  const double bottom = has_places_ ? fontMetrics().height() + 10 : 8;
  return {left, static_cast<double>(HeaderHeight()), std::max(width() - left - kRight, 1.0),
          std::max(height() - HeaderHeight() - bottom, 1.0)};
}

double LineChart::XOf(double value) const {
  const QRectF area = plot_area();
  return area.left() + x_.PlaceOf(value) * area.width();
}

std::optional<double> LineChart::PlaceAt(const QPointF& mouse) const {
  const QRectF area = plot_area();
  if (drawn_.empty() || mouse.x() < area.left() || mouse.x() > area.right()) return std::nullopt;
  return x_.ValueAt((mouse.x() - area.left()) / area.width());
}

std::optional<double> LineChart::cursor() const { return hover_ ? hover_ : mark_; }

bool LineChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* const help = static_cast<QHelpEvent*>(event);
  const auto place = PlaceAt(help->pos());
  // An empty text hides a shown one.
  const bool in_header = help->pos().y() < HeaderHeight();
  const QString values = place ? ValuesAt(*this, *place) : QString();
  QToolTip::showText(help->globalPos(), in_header ? toolTip() : values, this);
  return true;
}

void LineChart::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  Show(std::exchange(lines_, {}));
  emit Resized();
}

void LineChart::mouseMoveEvent(QMouseEvent* event) {
  const auto place = PlaceAt(event->position());
  emit Hovered(place);
  if (place && event->buttons().testFlag(Qt::LeftButton)) emit Chosen(*place);
}

void LineChart::mousePressEvent(QMouseEvent* event) {
  const auto place = PlaceAt(event->position());
  if (place && event->button() == Qt::LeftButton) emit Chosen(*place);
}

void LineChart::leaveEvent(QEvent* /*event*/) { emit Hovered(std::nullopt); }

}  // namespace weir::monitor
