#include "monitor_gui/view/style/elided_label.h"

#include <QPainter>

namespace weir::monitor {

void ElidedLabel::paintEvent(QPaintEvent*) {
  const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
  // Empty: the tooltip of the widget below, if there is one.
  setToolTip(shown == text() ? QString() : text());
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  painter.drawText(rect(), static_cast<int>(alignment()), shown);
}

}  // namespace weir::monitor
