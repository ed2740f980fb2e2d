#include "monitor_gui/view/heat_map.h"

#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "monitor_gui/view/metric_text.h"
#include "monitor_gui/view/theme.h"

namespace weir::monitor {
namespace {

constexpr int kLeastRowHeight = 3;
constexpr int kLeastNamedHeight = 10;  // Of a row whose name can be read.
constexpr int kNameWidth = 180;
constexpr int kMostRowHeight = 22;
constexpr double kSmallest = 1e-9;  // Of what a logarithm is taken.

}  // namespace

HeatMap::HeatMap(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMinimumHeight(120);
  setAccessibleName(tr("heat map of layers and steps"));
}

void HeatMap::Show(const LayerHistory& history, Metric metric,
                   const std::vector<std::size_t>& order) {
  metric_ = metric;
  first_step_ = history.first_step();
  steps_per_column_ = history.steps_per_column();
  const int columns = history.columns();
  const auto width = static_cast<std::size_t>(columns);
  means_.assign(order.size(), std::vector<float>(width, -1.0f));
  maxima_ = means_;
  names_.clear();
  range_ = {1e30, 0.0};
  for (std::size_t row = 0; row < order.size(); ++row) {
    names_.push_back(history.layers()[order[row]].name);
    float last = -1.0f;
    for (int column = 0; column < columns; ++column) {
      const auto c = static_cast<std::size_t>(column);
      const Statistic& cell = history.At(metric, order[row], column);
      // A residual is measured now and then, and stands until it is measured again.
      const bool stands = metric == Metric::kResidual && cell.count == 0 && last >= 0.0f;
      if (cell.count == 0 && !stands) continue;
      means_[row][c] = stands ? last : cell.mean();
      maxima_[row][c] = stands ? last : cell.max;
      last = means_[row][c];
      const double value = std::max<double>(last, kSmallest);
      range_ = {std::min(range_.low, value), std::max(range_.high, value)};
    }
  }
  cells_ = QImage(std::max(columns, 1), std::max(static_cast<int>(order.size()), 1),
                  QImage::Format_ARGB32);
  cells_.fill(Qt::transparent);
  const double length = std::log(std::max(range_.high, kSmallest)) - std::log(range_.low);
  for (std::size_t row = 0; row < order.size(); ++row) {
    auto* const line = reinterpret_cast<QRgb*>(cells_.scanLine(static_cast<int>(row)));
    for (std::size_t column = 0; column < width; ++column) {
      if (means_[row][column] < 0.0f) continue;
      const double value = std::log(std::max<double>(means_[row][column], kSmallest));
      line[column] = HeatColor(length > 0 ? (value - std::log(range_.low)) / length : 0.5).rgba();
    }
  }
  SetBars();
  viewport()->update();
}

int HeatMap::RowHeight() const {
  const int rows = std::max<int>(1, static_cast<int>(names_.size()));
  return std::clamp((viewport()->height() - kLegendHeight) / rows, kLeastRowHeight, kMostRowHeight);
}

QRect HeatMap::Area() const {
  const int left = RowHeight() >= kLeastNamedHeight ? kNameWidth : 0;
  return {left, kLegendHeight - verticalScrollBar()->value(), viewport()->width() - left,
          RowHeight() * static_cast<int>(names_.size())};
}

void HeatMap::SetBars() {
  const int room = std::max(0, viewport()->height() - kLegendHeight);
  verticalScrollBar()->setPageStep(room);
  verticalScrollBar()->setRange(0, std::max(0, Area().height() - room));
}

void HeatMap::resizeEvent(QResizeEvent* /*event*/) { SetBars(); }

void HeatMap::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  const Theme theme = Theme::Of(palette());
  if (names_.empty() || range_.high == 0.0) {
    painter.setPen(theme.faint);
    painter.drawText(viewport()->rect(), Qt::AlignCenter | Qt::TextWordWrap,
                     names_.empty() ? tr("No layer has sent a gradient yet.")
                                    : tr("Nothing of this has been measured."));
    return;
  }
  painter.save();
  painter.setClipRect(viewport()->rect().adjusted(0, kLegendHeight, 0, 0));
  painter.drawImage(Area(), cells_);
  PaintMark(painter);
  PaintNames(painter);
  painter.restore();
  PaintLegend(painter);
}

void HeatMap::PaintNames(QPainter& painter) const {
  const QRect area = Area();
  if (area.left() == 0) return;
  QFont font = painter.font();
  font.setPixelSize(std::min(RowHeight(), QFontInfo(font).pixelSize()));
  painter.setFont(font);
  painter.setPen(Theme::Of(palette()).faint);
  const QFontMetrics metrics(font);
  for (std::size_t row = 0; row < names_.size(); ++row) {
    const QRect at(8, area.top() + static_cast<int>(row) * RowHeight(), kNameWidth - 16,
                   RowHeight());
    painter.drawText(at, Qt::AlignRight | Qt::AlignVCenter,
                     metrics.elidedText(names_[row], Qt::ElideLeft, at.width()));
  }
}

void HeatMap::PaintMark(QPainter& painter) const {
  const std::int64_t column = (marked_step_ - first_step_) / steps_per_column_;
  // The end is no mark.
  if (marked_step_ < first_step_ || column >= cells_.width() - 1) return;
  const QRect area = Area();
  const double width = static_cast<double>(area.width()) / cells_.width();
  const QRectF mark(area.left() + static_cast<double>(column) * width, area.top(),
                    std::max(width, 1.0), area.height());
  // Seen on every colour of the map: light within dark.
  painter.setPen(QPen(Qt::black, 3));
  painter.drawRect(mark);
  painter.setPen(QPen(Qt::white, 1));
  painter.drawRect(mark);
}

void HeatMap::PaintLegend(QPainter& painter) const {
  const Theme theme = Theme::Of(palette());
  const int bar_width = 160;
  const int top = 6;
  const int height = 10;
  const QString low = Text(metric_, range_.low);
  const QString high = Text(metric_, range_.high);
  const QFontMetrics font(painter.font());
  const int left = font.horizontalAdvance(low) + 16;
  for (int x = 0; x < bar_width; ++x)
    painter.fillRect(left + x, top, 1, height, HeatColor(static_cast<double>(x) / (bar_width - 1)));
  painter.setPen(theme.faint);
  const int base = top + height;
  painter.drawText(8, base, low);
  painter.drawText(left + bar_width + 8, base, high);
  const std::int64_t last =
      first_step_ + steps_per_column_ * static_cast<std::int64_t>(means_.front().size()) - 1;
  const QString steps =
      tr("steps %1 to %2, %3 a column").arg(first_step_).arg(last).arg(steps_per_column_);
  painter.drawText(QRect(0, 0, viewport()->width() - 8, kLegendHeight - 12),
                   Qt::AlignRight | Qt::AlignVCenter, steps);
}

bool HeatMap::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), Describe(help->pos()), this);
  return true;
}

QString HeatMap::Describe(const QPoint& at) const {
  const QRect area = Area();
  if (at.y() < kLegendHeight || !area.contains(at) || cells_.width() == 0) return {};
  const auto row = static_cast<std::size_t>((at.y() - area.top()) / RowHeight());
  const auto column = static_cast<std::size_t>(static_cast<std::int64_t>(at.x() - area.left()) *
                                               cells_.width() / area.width());
  if (row >= means_.size() || column >= means_[row].size()) return {};
  const std::int64_t step = first_step_ + static_cast<std::int64_t>(column) * steps_per_column_;
  const QString steps = steps_per_column_ == 1
                            ? tr("step %1").arg(step)
                            : tr("steps %1 to %2").arg(step).arg(step + steps_per_column_ - 1);
  if (means_[row][column] < 0.0f) return tr("%1\n%2: not known").arg(names_[row], steps);
  return tr("%1\n%2: %3 %4, at most %5")
      .arg(names_[row], steps, Name(metric_).toLower(),
           Text(metric_, static_cast<double>(means_[row][column])),
           Text(metric_, static_cast<double>(maxima_[row][column])));
}

}  // namespace weir::monitor
