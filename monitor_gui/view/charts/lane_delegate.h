#pragma once

#include <QStyledItemDelegate>

#include "monitor_gui/view/charts/lanes_model.h"

namespace weir::monitor {

/// Paints a row of a LanesModel: its name, then its intervals in the window's time.
class LaneDelegate final : public QStyledItemDelegate {
  Q_OBJECT
 public:
  static constexpr int kNameWidth = 132;

  using QStyledItemDelegate::QStyledItemDelegate;
  /// Gives the rows as much of a height as they can use. True: they look otherwise now.
  bool FitRows(int rows, int height);
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  static constexpr int kLeastRowHeight = 18;
  static constexpr int kMostRowHeight = 34;
  static constexpr int kBetweenRanks = 8;

  int row_height_ = kLeastRowHeight;
};

}  // namespace weir::monitor
