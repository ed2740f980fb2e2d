#pragma once

#include <QStyledItemDelegate>

#include "monitor_gui/view/charts/lanes_model.h"

namespace weir::monitor {

/// Paints a row of a LanesModel: its name, then its intervals in the window's time.
class LaneDelegate final : public QStyledItemDelegate {
  Q_OBJECT
 public:
  static constexpr int kNameWidth = 132;
  static constexpr int kRowHeight = 18;

  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace weir::monitor
