#pragma once

#include <QStyledItemDelegate>

namespace weir::monitor {

/// Paints a number of a table over a bar that is as long as the number is large, beside the
/// largest one of its column. Models have the numbers as kValueRole.
class BarDelegate final : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
};

}  // namespace weir::monitor
