#include "monitor_gui/view/table_style.h"

#include <QHeaderView>

namespace weir::monitor {

void StyleTable(QTableView& view, int stretched_column) {
  view.setSelectionBehavior(QAbstractItemView::SelectRows);
  view.setShowGrid(false);
  view.setAlternatingRowColors(true);
  view.setFrameShape(QFrame::NoFrame);
  view.setWordWrap(false);
  view.verticalHeader()->hide();
  view.verticalHeader()->setDefaultSectionSize(view.fontMetrics().height() + 6);
  view.horizontalHeader()->setHighlightSections(false);
  view.horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view.horizontalHeader()->setSectionResizeMode(stretched_column, QHeaderView::Stretch);
}

}  // namespace weir::monitor
