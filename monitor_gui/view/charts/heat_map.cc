#include "monitor_gui/view/charts/heat_map.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "monitor_gui/view/charts/heat_color.h"
#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/style/metric_text.h"
#include "monitor_gui/view/style/theme.h"

namespace weir::monitor {
namespace {

constexpr int kLeastNamedHeight = 10;  // For a row whose name can be read.
constexpr int kNameWidth = 180;
constexpr int kMostRowHeight = 22;
constexpr int kColors = 256;

std::array<QRgb, kColors> Colors() {
  std::array<QRgb, kColors> colors{};
  for (int i = 0; i < kColors; ++i)
    colors[static_cast<std::size_t>(i)] = HeatColor(static_cast<double>(i) / (kColors - 1)).rgb();
  return colors;
}

}  // namespace

HeatMap::HeatMap(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMinimumHeight(120);
  setAccessibleName(tr("heat map of layers and steps"));
  viewport()->setMouseTracking(true);
}

HeatGrid::Size HeatMap::MostCells() const {
  return {
      .rows = std::max(1, viewport()->height() - kLegendHeight),
      .columns = std::max(1, chart_ == nullptr ? viewport()->width()
                                               : static_cast<int>(chart_->plot_area().width()))};
}

void HeatMap::Show(const LayerHistory& history, Metric metric,
                   const std::vector<std::size_t>& order) {
  metric_ = metric;
  names_.clear();
  labels_.clear();
  for (const std::size_t layer : order) names_.push_back(history.layers()[layer].name);
  for (const std::size_t layer : order) labels_.push_back(history.layers()[layer].short_name());
  grid_.Update(history, metric, order, MostCells());
  Recolor();
  viewport()->update();
}

void HeatMap::Recolor() {
  static const std::array<QRgb, kColors> kLut = Colors();
  const auto [rows, columns] = grid_.size();
  const QSize size(std::max(columns, 1), std::max(rows, 1));
  const bool all = cells_.size() != size || colored_ != grid_.range();
  if (cells_.size() != size) cells_ = QImage(size, QImage::Format_ARGB32_Premultiplied);
  colored_ = grid_.range();
  const double low = std::log(std::max(colored_.low, HeatGrid::kSmallest));
  const double length = std::log(std::max(colored_.high, HeatGrid::kSmallest)) - low;
  const auto color = [&](const Statistic& cell) -> QRgb {
    if (cell.count == 0) return 0;  // Transparent.
    const double value = std::log(std::max<double>(cell.mean(), HeatGrid::kSmallest)) - low;
    const double part = length > 0 ? value / length : 0.5;
    return kLut[static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * (kColors - 1))];
  };
  std::vector<int> anew = grid_.changed();
  if (all) {
    anew.resize(static_cast<std::size_t>(columns));
    std::iota(anew.begin(), anew.end(), 0);
  }
  for (int row = 0; row < rows; ++row) {
    auto* const line = reinterpret_cast<QRgb*>(cells_.scanLine(row));
    for (const int column : anew) line[column] = color(grid_.At(row, column));
  }
}

int HeatMap::RowHeight() const {
  const int rows = std::max(1, grid_.size().rows);
  return std::clamp((viewport()->height() - kLegendHeight) / rows, 1, kMostRowHeight);
}

QRect HeatMap::Area() const {
  const int room = viewport()->height() - kLegendHeight;
  if (chart_ != nullptr) {
    // A step's cells lie around its place.
    const auto x = [this](int column) {
      return qRound(chart_->XOf(static_cast<double>(grid_.StepOf(column)) - 0.5));
    };
    const int left = x(0);
    return {left, kLegendHeight, x(grid_.size().columns) - left, room};
  }
  if (RowHeight() < kLeastNamedHeight) return {0, kLegendHeight, viewport()->width(), room};
  return {kNameWidth, kLegendHeight, viewport()->width() - kNameWidth,
          RowHeight() * grid_.size().rows};
}

void HeatMap::resizeEvent(QResizeEvent* /*event*/) { emit Resized(); }

void HeatMap::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  const Theme theme = Theme::Of(palette());
  if (names_.empty() || grid_.range().high == 0.0) {
    painter.setPen(theme.faint);
    painter.drawText(viewport()->rect(), Qt::AlignCenter | Qt::TextWordWrap,
                     names_.empty() ? tr("No layer has sent a gradient yet.")
                                    : tr("Nothing of this has been measured."));
    return;
  }
  painter.save();
  painter.setClipRect(viewport()->rect().adjusted(0, kLegendHeight, 0, 0));
  painter.drawImage(Area(), cells_);
  PaintSelected(painter);
  // The end is not marked.
  if (marked_step_ < grid_.StepOf(grid_.size().columns - 1)) PaintStep(painter, marked_step_);
  if (hovered_step_) PaintStep(painter, *hovered_step_);
  PaintNames(painter);
  painter.restore();
  PaintLegend(painter);
}

void HeatMap::PaintNames(QPainter& painter) const {
  const QRect area = Area();
  if (area.left() == 0 || chart_ != nullptr) return;
  QFont font = painter.font();
  font.setPixelSize(std::min(RowHeight(), QFontInfo(font).pixelSize()));
  painter.setFont(font);
  painter.setPen(Theme::Of(palette()).faint);
  const QFontMetrics metrics(font);
  for (std::size_t row = 0; row < names_.size(); ++row) {
    const QRect at(8, area.top() + static_cast<int>(row) * RowHeight(), kNameWidth - 16,
                   RowHeight());
    painter.drawText(at, Qt::AlignRight | Qt::AlignVCenter,
                     metrics.elidedText(labels_[row], Qt::ElideLeft, at.width()));
  }
}

void HeatMap::PaintStep(QPainter& painter, std::int64_t step) const {
  const int columns = grid_.size().columns;
  const std::int64_t column = (step - grid_.StepOf(0)) / grid_.steps_per_column();
  if (step < grid_.StepOf(0) || column >= columns) return;
  const QRect area = Area();
  const double width = static_cast<double>(area.width()) / columns;
  const QRectF mark(area.left() + static_cast<double>(column) * width, area.top(),
                    std::max(width, 1.0), area.height());
  // Visible on every colour of the map: light within dark.
  painter.setPen(QPen(Qt::black, 3));
  painter.drawRect(mark);
  painter.setPen(QPen(Qt::white, 1));
  painter.drawRect(mark);
}

void HeatMap::PaintSelected(QPainter& painter) const {
  const auto found = std::ranges::find(names_, selected_);
  if (selected_.isEmpty() || found == names_.end()) return;
  const QRect area = Area();
  const auto place = static_cast<double>(found - names_.begin());
  const double height = static_cast<double>(area.height()) / static_cast<double>(names_.size());
  const QRectF row(area.left(), area.top() + place * height, area.width() - 1,
                   std::max(height, 2.0));
  painter.setPen(QPen(Qt::black, 3));
  painter.drawRect(row);
  painter.setPen(QPen(Qt::white, 1));
  painter.drawRect(row);
}

void HeatMap::PaintLegend(QPainter& painter) const {
  const Theme theme = Theme::Of(palette());
  const int bar_width = 120;
  const int top = 7;
  const int height = 10;
  QFont bold = painter.font();
  bold.setWeight(QFont::DemiBold);
  int begin = 8;
  if (!title_.isEmpty()) {
    painter.save();
    painter.setFont(bold);
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(begin, top + height, title_);
    painter.restore();
    begin += QFontMetrics(bold).horizontalAdvance(title_) + 16;
  }
  const QString low = Text(metric_, grid_.range().low);
  const QString high = Text(metric_, grid_.range().high);
  const QFontMetrics font(painter.font());
  const int left = begin + font.horizontalAdvance(low) + 8;
  for (int x = 0; x < bar_width; ++x)
    painter.fillRect(left + x, top, 1, height, HeatColor(static_cast<double>(x) / (bar_width - 1)));
  painter.setPen(theme.faint);
  const int base = top + height;
  painter.drawText(begin, base, low);
  painter.drawText(left + bar_width + 8, base, high);
  const QString steps = tr("steps %1 to %2, %3 a column")
                            .arg(grid_.StepOf(0))
                            .arg(grid_.StepOf(grid_.size().columns) - 1)
                            .arg(grid_.steps_per_column());
  const int end = left + bar_width + 16 + font.horizontalAdvance(high);
  if (end + font.horizontalAdvance(steps) > viewport()->width() - 8) return;
  painter.drawText(QRect(0, 0, viewport()->width() - 8, kLegendHeight),
                   Qt::AlignRight | Qt::AlignVCenter, steps);
}

void HeatMap::Hover(std::optional<std::int64_t> step) {
  if (hovered_step_ != step) viewport()->update();
  hovered_step_ = step;
}

void HeatMap::Select(const QString& layer) {
  selected_ = layer;
  viewport()->update();
}

std::optional<HeatMap::Cell> HeatMap::CellAt(const QPoint& at) const {
  const QRect area = Area();
  const auto [rows, columns] = grid_.size();
  if (!area.contains(at) || columns == 0 || rows == 0) return std::nullopt;
  return Cell{.row = (at.y() - area.top()) * rows / area.height(),
              .column = static_cast<int>(static_cast<std::int64_t>(at.x() - area.left()) * columns /
                                         area.width())};
}

std::optional<std::int64_t> HeatMap::StepAt(const QPoint& at) const {
  const auto cell = CellAt(at);
  return cell ? std::optional(grid_.StepOf(cell->column)) : std::nullopt;
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) { emit Hovered(StepAt(event->pos())); }

void HeatMap::mousePressEvent(QMouseEvent* event) {
  const auto cell = CellAt(event->pos());
  if (!cell || event->button() != Qt::LeftButton) return;
  emit Chosen(grid_.StepOf(cell->column), names_[grid_.RowBegin(cell->row)]);
}

bool HeatMap::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) emit Hovered(std::nullopt);
  if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), Describe(help->pos()), this);
  return true;
}

QString HeatMap::Describe(const QPoint& at) const {
  const auto cell_at = CellAt(at);
  if (!cell_at) return {};
  const auto [row, column] = *cell_at;
  const std::int64_t step = grid_.StepOf(column);
  const std::int64_t last = grid_.StepOf(column + 1) - 1;
  const QString steps =
      step == last ? tr("step %1").arg(step) : tr("steps %1 to %2").arg(step).arg(last);
  const std::size_t begin = grid_.RowBegin(row);
  const std::size_t end = grid_.RowBegin(row + 1);
  const QString layers =
      end == begin + 1
          ? names_[begin]
          : tr("%1 to %2, %3 layers").arg(names_[begin], names_[end - 1]).arg(end - begin);
  const Statistic& cell = grid_.At(row, column);
  if (cell.count == 0) return tr("%1\n%2: not known").arg(layers, steps);
  return tr("%1\n%2: %3 %4, from %5 to %6")
      .arg(layers, steps, Name(metric_).toLower(), Text(metric_, static_cast<double>(cell.mean())),
           Text(metric_, static_cast<double>(cell.min)),
           Text(metric_, static_cast<double>(cell.max)));
}

}  // namespace weir::monitor
