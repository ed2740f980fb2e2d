#include "monitor_gui/view/charts/lane_delegate.h"

#include <QPainter>
#include <algorithm>
#include <utility>

#include "monitor_gui/view/style/theme.h"

namespace weir::monitor {
namespace {

QColor ColorOf(Lane lane, const Theme& theme) {
  switch (lane) {
    case Lane::kBackprop:
      return theme.backprop;
    case Lane::kCompress:
      return theme.compress;
    case Lane::kExchange:
      return theme.exchange;
    case Lane::kMerge:
      return theme.merge;
  }
  return theme.faint;
}

}  // namespace

bool LaneDelegate::FitRows(int rows, int height) {
  const int each = rows == 0 ? 0 : (height - rows / kLanes * kBetweenRanks) / rows;
  const int before = std::exchange(row_height_, std::clamp(each, kLeastRowHeight, kMostRowHeight));
  return before != row_height_;
}

QSize LaneDelegate::sizeHint(const QStyleOptionViewItem& /*option*/,
                             const QModelIndex& index) const {
  const auto* model = static_cast<const LanesModel*>(index.model());
  const bool last = model->row(index.row()).lane == Lane::kMerge;
  return {kNameWidth, row_height_ + (last ? kBetweenRanks : 0)};
}

void LaneDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  const auto* model = static_cast<const LanesModel*>(index.model());
  const LanesModel::Row& row = model->row(index.row());
  const Theme theme = Theme::Of(option.palette);
  const QRect area(option.rect.left() + kNameWidth, option.rect.top(),
                   option.rect.width() - kNameWidth, row_height_);
  const TimeWindow window = model->window();
  const double pixels = static_cast<double>(area.width()) /
                        static_cast<double>(std::max<std::int64_t>(window.length_ns(), 1));
  const auto x = [&](std::int64_t time_ns) {
    return area.left() + static_cast<double>(time_ns - window.start_ns) * pixels;
  };

  painter->save();
  painter->setPen(theme.faint);
  const QRect name(option.rect.left() + 8, area.top(), kNameWidth - 16, row_height_);
  if (row.lane == Lane::kBackprop) {
    painter->drawText(name, Qt::AlignLeft | Qt::AlignVCenter, LanesModel::NameOf(row));
  }
  painter->drawText(name, Qt::AlignRight | Qt::AlignVCenter, Name(row.lane));

  painter->setClipRect(area);
  painter->setPen(theme.grid);
  for (const std::int64_t time : row.step_starts) {
    painter->drawLine(QPointF(x(time), option.rect.top()), QPointF(x(time), option.rect.bottom()));
  }
  if (row.hovered) {
    QColor band = option.palette.color(QPalette::Text);
    band.setAlphaF(0.1f);
    const double left = x(row.hovered->start_ns);
    painter->fillRect(
        QRectF(left, option.rect.top(), x(row.hovered->end_ns) - left, option.rect.height()), band);
  }
  const QColor plain = ColorOf(row.lane, theme);
  QColor dim = plain;
  dim.setAlphaF(0.25f);
  for (const LaneInterval& interval : row.intervals) {
    const bool is_dim = row.lane != Lane::kBackprop && !row.chosen.empty() &&
                        (interval.count > 1 || !row.chosen.contains(interval.bucket));
    const QColor& color = is_dim ? dim : plain;
    const double left = x(interval.start_ns);
    const double width = std::max(1.0, x(interval.end_ns) - left);
    const QRectF bar(left, area.top() + 2, width, area.height() - 4);
    painter->fillRect(bar, interval.ok ? color : theme.bad);
    if (width > 4) {  // The next one may begin where this one ends.
      painter->setPen(option.palette.color(QPalette::Base));
      painter->drawLine(bar.topRight(), bar.bottomRight());
    }
  }
  painter->restore();
}

}  // namespace weir::monitor
