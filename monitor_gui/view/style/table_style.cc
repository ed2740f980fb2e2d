#include "monitor_gui/view/style/table_style.h"

#include <QHeaderView>
#include <QProxyStyle>
#include <QStyleOptionHeader>

namespace weir::monitor {
namespace {

/// Room between a text and the edge of its cell.
class RoomyStyle final : public QProxyStyle {
 public:
  RoomyStyle() : QProxyStyle("Fusion") {}
  int pixelMetric(PixelMetric metric, const QStyleOption* option,
                  const QWidget* widget) const override {
    constexpr int kRoom = 7;
    if (metric == PM_FocusFrameHMargin || metric == PM_HeaderMargin) return kRoom;
    return QProxyStyle::pixelMetric(metric, option, widget);
  }
  /// Keeps less room for the arrow of a sorted column than the column is high.
  QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                         const QWidget* widget) const override {
    const auto* const header = qstyleoption_cast<const QStyleOptionHeader*>(option);
    if (type != CT_HeaderSection || header == nullptr)
      return QProxyStyle::sizeFromContents(type, option, size, widget);
    constexpr int kArrow = 8;
    QStyleOptionHeader plain = *header;
    plain.sortIndicator = QStyleOptionHeader::None;
    return QProxyStyle::sizeFromContents(type, &plain, size, widget) + QSize(kArrow, 0);
  }
};

}  // namespace

void StyleTable(QTableView& view, int stretched_column) {
  auto* const style = new RoomyStyle;
  style->setParent(&view);
  view.setStyle(style);
  view.horizontalHeader()->setStyle(style);
  view.setSelectionBehavior(QAbstractItemView::SelectRows);
  view.setShowGrid(false);
  view.setAlternatingRowColors(true);
  view.setFrameShape(QFrame::NoFrame);
  view.setWordWrap(false);
  view.verticalHeader()->hide();
  view.verticalHeader()->setDefaultSectionSize(view.fontMetrics().height() + 6);
  view.horizontalHeader()->setHighlightSections(false);
  view.horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view.horizontalHeader()->setResizeContentsPrecision(0);  // Fits the visible part.
  view.horizontalHeader()->setSectionResizeMode(stretched_column, QHeaderView::Stretch);
}

int ContentHeight(const QTableView& view) {
  const int rows = view.model()->rowCount() + 1;
  const QHeaderView& header = *view.horizontalHeader();
  return (header.isHidden() ? 0 : header.sizeHint().height()) +
         rows * view.verticalHeader()->defaultSectionSize();
}

}  // namespace weir::monitor
