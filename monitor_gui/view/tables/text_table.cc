#include "monitor_gui/view/tables/text_table.h"

#include <QSortFilterProxyModel>
#include <utility>

#include "monitor_gui/view/style/empty_text.h"
#include "monitor_gui/view/style/table_style.h"
#include "monitor_gui/view/style/units.h"
#include "monitor_gui/view/tables/roles.h"

namespace weir::monitor {

Cell UnknownCell() { return {QString("–"), {}}; }
Cell NumberCell(std::int64_t number) {
  return {QString::number(number), static_cast<qlonglong>(number)};
}
Cell SecondsCell(double seconds) { return {Seconds(seconds), seconds}; }
Cell BytesCell(double bytes) { return {Bytes(bytes), bytes}; }
Cell TimesCell(double ratio) { return {Times(ratio), ratio}; }

namespace {

std::vector<RowColumn<Cells>> ColumnsOf(std::vector<ColumnHead> heads) {
  std::vector<RowColumn<Cells>> columns;
  for (std::size_t c = 0; c < heads.size(); ++c) {
    const auto text = [c](const Cells& row) { return row[c].text; };
    columns.push_back({.head = std::move(heads[c]),
                       .value = [c](const Cells& row) { return row[c].value; },
                       .text = text,
                       .tool_tip = text});  // The cell may be elided.
  }
  return columns;
}

}  // namespace

TextTable::TextTable(std::vector<ColumnHead> heads, QObject* parent)
    : RowTable(ColumnsOf(std::move(heads)), parent) {}

QTableView* TextTable::MakeView(int stretched, const QString& empty_text, QWidget* parent) {
  auto* view = new QTableView(parent);
  auto* sorted = new QSortFilterProxyModel(view);
  sorted->setSourceModel(this);
  sorted->setSortRole(kValueRole);
  view->setModel(sorted);
  view->setSortingEnabled(true);
  view->sortByColumn(-1, Qt::AscendingOrder);  // In their own order.
  StyleTable(*view, stretched);
  new EmptyText(*view, empty_text);
  return view;
}

}  // namespace weir::monitor
