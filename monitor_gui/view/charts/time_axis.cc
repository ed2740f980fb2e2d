#include "monitor_gui/view/charts/time_axis.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "monitor_gui/view/charts/round_step.h"
#include "monitor_gui/view/style/theme.h"

namespace weir::monitor {
namespace {

constexpr int kLeastPixels = 90;  // Between two marks.

}  // namespace

TimeAxis::TimeAxis(int left, QWidget* parent) : QWidget(parent), left_(left) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setToolTip(tr("Seconds since the first step that is known."));
}

void TimeAxis::Show(TimeWindow window, std::int64_t origin_ns) {
  window_ = window;
  origin_ns_ = origin_ns;
  update();
}

void TimeAxis::paintEvent(QPaintEvent* /*event*/) {
  if (window_.length_ns() <= 0) return;
  QPainter painter(this);
  const Theme theme = Theme::Of(palette());
  const double width = this->width() - left_;
  const double seconds = static_cast<double>(window_.length_ns()) * 1e-9;
  const double start = static_cast<double>(window_.start_ns - origin_ns_) * 1e-9;
  const double step = 2 * RoundStep(seconds / width * kLeastPixels);
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step))));
  const auto first = static_cast<std::int64_t>(std::ceil(start / step));
  const auto last = static_cast<std::int64_t>(std::floor((start + seconds) / step));
  for (std::int64_t number = first; number <= last; ++number) {
    const double mark = static_cast<double>(number) * step;
    const double x = left_ + (mark - start) / seconds * width;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(x, height() - 5), QPointF(x, height()));
    painter.setPen(theme.faint);
    const QString text = QString::number(mark, 'f', decimals) + " s";
    const double half = painter.fontMetrics().horizontalAdvance(text) / 2.0 + 1;
    const double middle = std::min(x, this->width() - half);  // Keeps the last one whole.
    painter.drawText(QRectF(middle - half, 0, 2 * half, height() - 5), Qt::AlignCenter, text);
  }
}

}  // namespace weir::monitor
