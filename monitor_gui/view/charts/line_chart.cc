#include "monitor_gui/view/charts/line_chart.h"

#include <QChart>
#include <QGraphicsLayout>
#include <QHelpEvent>
#include <QLegend>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QTimer>
#include <QToolTip>
#include <QValueAxis>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "monitor_gui/view/charts/chart_values.h"
#include "monitor_gui/view/charts/round_step.h"
#include "monitor_gui/view/style/theme.h"

namespace weir::monitor {
namespace {

constexpr int kTicks = 16;
constexpr int kRoomForTitle = 180;  // Chart height in pixels.
constexpr QMargins kMargins(4, 0, 8, 0);

void Paint(QAbstractAxis* axis, const Theme& theme) {
  axis->setTruncateLabels(false);  // Qt would replace numbers by dots in low charts.
  axis->setLabelsColor(theme.faint);
  axis->setTitleBrush(theme.faint);
  axis->setTitleFont(axis->labelsFont());
  axis->setGridLineColor(theme.grid);
  axis->setLinePenColor(theme.grid);
}

}  // namespace

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

LineChart::Line LineOf(const Side& side, const QString& name, const QColor& color,
                       QList<QPointF> points, Part part) {
  const bool is_reference = part == Part::kReference;
  const Qt::PenStyle own = is_reference ? Qt::DotLine : Qt::SolidLine;
  const Qt::PenStyle others = is_reference ? Qt::DashDotLine : Qt::DashLine;
  return {.name = side.label.isEmpty() ? name : name + " " + side.label,
          .color = color,
          .points = std::move(points),
          .style = side.is_other ? others : own};
}

LineChart::LineChart(const QString& title, const QString& x_title, const QString& unit, Scale scale,
                     QWidget* parent)
    : QChartView(parent), scale_(scale), title_(title), x_title_(x_title), unit_(unit) {
  auto* const chart = new QChart;
  chart->setTitle(unit.isEmpty() ? title : tr("%1 [%2]").arg(title, unit));
  chart->setMargins(kMargins);
  chart->setBackgroundRoundness(0);
  chart->layout()->setContentsMargins(0, 0, 0, 0);
  setChart(chart);
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setAccessibleName(title);
  x_ = new QValueAxis(chart);
  x_->setTitleText(x_title);
  x_->setLabelFormat("%g");
  x_->setTickType(QValueAxis::TicksDynamic);
  chart->addAxis(x_, Qt::AlignBottom);
  if (scale == Scale::kLogarithmic) {
    auto* const axis = new QLogValueAxis(chart);
    axis->setBase(10);
    axis->setLabelFormat("%g");
    y_ = axis;
  } else {
    auto* const axis = new QValueAxis(chart);
    axis->setLabelFormat("%g");
    y_ = axis;
  }
  chart->addAxis(y_, Qt::AlignLeft);
  chart->legend()->setAlignment(Qt::AlignTop);
  chart->legend()->setMarkerShape(QLegend::MarkerShapeFromSeries);
}

void LineChart::TakeColors() {
  if (colored_ == palette().cacheKey()) return;
  colored_ = palette().cacheKey();
  const Theme theme = Theme::Of(palette());
  chart()->setBackgroundBrush(palette().color(QPalette::Base));
  chart()->setTitleBrush(palette().color(QPalette::Text));
  chart()->legend()->setLabelColor(theme.faint);
  Paint(x_, theme);
  Paint(y_, theme);
}

void LineChart::Show(const std::vector<Line>& lines) {
  lines_ = lines;
  TakeColors();
  // Series stay as long as their names do, because a legend of new ones takes time to appear.
  std::vector<Line> shown;
  std::ranges::copy_if(lines, std::back_inserter(shown),
                       [](const Line& line) { return !line.points.isEmpty(); });
  empty_ = shown.empty();
  const QList<QAbstractSeries*> known = chart()->series();
  const bool same = std::ranges::equal(known, shown, {}, &QAbstractSeries::name, &Line::name);
  if (!same) chart()->removeAllSeries();
  for (std::size_t i = 0; i < shown.size(); ++i) {
    auto* const series = same ? static_cast<QLineSeries*>(known[static_cast<qsizetype>(i)])
                              : AddSeries(shown[i].name);
    series->setPen(QPen(shown[i].color, 2, shown[i].style));
    QList<QPointF> points = shown[i].points;
    if (scale_ == Scale::kLogarithmic) points.removeIf([](const QPointF& p) { return p.y() <= 0; });
    series->replace(Decimated(points, std::max(width(), 2)));
  }
  viewport()->update();
  x_->setVisible(!empty_);
  y_->setVisible(!empty_);
  FitAxes(lines);
}

QLineSeries* LineChart::AddSeries(const QString& name) {
  auto* const series = new QLineSeries;
  series->setName(name);
  chart()->addSeries(series);
  series->attachAxis(x_);
  series->attachAxis(y_);
  return series;
}

void LineChart::FitAxes(const std::vector<Line>& lines) {
  if (empty_) return;
  double left = INFINITY;
  double right = -INFINITY;
  double low = INFINITY;
  double high = -INFINITY;
  for (const Line& line : lines) {
    for (const QPointF& point : line.points) {
      left = std::min(left, point.x());
      right = std::max(right, point.x());
      if (scale_ == Scale::kLogarithmic && point.y() <= 0) continue;
      low = std::min(low, point.y());
      high = std::max(high, point.y());
    }
  }
  last_x_ = right;
  // A chart lays all of itself out when a range changes, which takes longer than all the drawing
  // here. So the axis leaves room for coming points.
  const double ahead = RoundStep(std::max(right - left, 1.0) / kTicks);
  SetX({.low = left, .high = std::max(std::ceil(right / ahead) * ahead, left + ahead)});
  if (scale_ == Scale::kLogarithmic) {
    if (high < low) low = high = 1;
    constexpr double kRounding = 1e-6;
    const double top = std::ceil(std::log10(high) - kRounding);
    const double bottom = std::min(std::floor(std::log10(low) + kRounding), top - 1);
    // A little less, so that rounding does not remove the lowest label.
    SetY({.low = std::pow(10, bottom) * (1 - kRounding), .high = std::pow(10, top)});
  } else {
    const double step = RoundStep(std::max(high, 1e-12) / kTicks);
    SetY(
        {.low = std::min(low, 0.0), .high = high > 0 ? std::ceil(high * 1.04 / step) * step : 1.0});
  }
}

bool LineChart::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QChartView::viewportEvent(event);
  const auto* const help = static_cast<QHelpEvent*>(event);
  const bool is_inside = chart()->plotArea().contains(mapToScene(help->pos()));
  const double x = chart()->mapToValue(mapToScene(help->pos())).x();
  // An empty text hides a shown one.
  QToolTip::showText(help->globalPos(), is_inside ? ValuesAt(*this, x) : QString(), viewport());
  return true;
}

void LineChart::resizeEvent(QResizeEvent* event) {
  QChartView::resizeEvent(event);
  // Qt would replace a title by dots if there is no room for it.
  x_->setTitleVisible(height() >= kRoomForTitle);
}

void LineChart::SetX(const Range& range) {
  if (range == shown_x_) return;
  shown_x_ = range;
  x_->setRange(range.low, range.high);
  x_->setTickInterval(2 * RoundStep((range.high - range.low) / kTicks));
}

void LineChart::SetY(const Range& range) {
  if (range == shown_y_) return;
  shown_y_ = range;
  y_->setRange(range.low, range.high);
  if (scale_ == Scale::kLinear) static_cast<QValueAxis*>(y_)->applyNiceNumbers();
}

void LineChart::drawForeground(QPainter* painter, const QRectF& rect) {
  QChartView::drawForeground(painter, rect);
  if (!empty_) return PaintMark(*painter);
  painter->setPen(Theme::Of(palette()).faint);
  painter->drawText(rect, Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
}

void LineChart::PaintMark(QPainter& painter) const {
  if (!mark_ || *mark_ < x_->min() || *mark_ >= last_x_) return;  // The end is not marked.
  const QRectF area = chart()->plotArea();
  const double x = area.left() + (*mark_ - x_->min()) / (x_->max() - x_->min()) * area.width();
  painter.setPen(QPen(Theme::Of(palette()).accent, 1));
  painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
}

void AlignPlots(const std::vector<LineChart*>& charts) {
  // Not at once: a chart must not change while it is being laid out, and a change must
  // not cause another without end.
  constexpr int kPauseMs = 50;
  auto* const timer = new QTimer(charts.front());
  timer->setSingleShot(true);
  timer->setInterval(kPauseMs);
  QObject::connect(timer, &QTimer::timeout, [charts] {
    const auto labels = [](const LineChart* chart) {
      return qRound(chart->chart()->plotArea().left()) - chart->chart()->margins().left();
    };
    const int widest = labels(*std::ranges::max_element(charts, {}, labels));
    for (LineChart* chart : charts) {
      QMargins margins = kMargins;
      margins.setLeft(margins.left() + widest - labels(chart));
      const int change = margins.left() - chart->chart()->margins().left();
      if (std::abs(change) > 1) chart->chart()->setMargins(margins);  // 1: rounding.
    }
  });
  for (const LineChart* chart : charts) {
    QObject::connect(chart->chart(), &QChart::plotAreaChanged, timer, [timer] {
      if (!timer->isActive()) timer->start();
    });
  }
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
