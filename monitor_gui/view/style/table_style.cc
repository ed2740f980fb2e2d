#include "monitor_gui/view/style/table_style.h"

#include <QHeaderView>
#include <QProxyStyle>

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

}  // namespace weir::monitor
