#include "monitor_gui/view/tables/bar_delegate.h"

#include <QPainter>
#include <algorithm>

#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/tables/roles.h"

namespace weir::monitor {

void BarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
  double most = 0;
  for (int row = 0; row < index.model()->rowCount(); ++row)
    most = std::max(most, index.siblingAtRow(row).data(kValueRole).toDouble());
  QStyledItemDelegate::paint(painter, option, index);
  // On the colour of a selection a bar would hide the number.
  if (most <= 0 || option.state.testFlag(QStyle::State_Selected)) return;
  const double part = std::max(0.0, index.data(kValueRole).toDouble() / most);
  QColor color = Theme::Of(option.palette).accent;
  color.setAlphaF(0.28f);
  const QRectF cell = QRectF(option.rect).adjusted(3, 2, -3, -2);
  painter->fillRect(QRectF(cell.left(), cell.top(), part * cell.width(), cell.height()), color);
}

}  // namespace weir::monitor
