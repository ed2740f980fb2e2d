#include "monitor_gui/view/style/text_color.h"

namespace weir::monitor {

void SetTextColor(QLabel& label, const QColor& color) {
  label.setForegroundRole(QPalette::WindowText);
  if (label.palette().color(QPalette::WindowText) == color) return;  // Setting it would repaint.
  QPalette palette = label.palette();
  palette.setColor(QPalette::WindowText, color);
  label.setPalette(palette);
}

}  // namespace weir::monitor
