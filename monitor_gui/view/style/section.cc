#include "monitor_gui/view/style/section.h"

namespace weir::monitor {

QLabel* SectionTitle(const QString& text, QWidget* parent) {
  auto* const title = new QLabel(text, parent);
  QFont font = title->font();
  font.setWeight(QFont::DemiBold);
  title->setFont(font);
  title->setContentsMargins(8, 6, 8, 4);
  return title;
}

}  // namespace weir::monitor
