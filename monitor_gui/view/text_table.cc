#include "monitor_gui/view/text_table.h"

#include <QSortFilterProxyModel>
#include <utility>

#include "monitor_gui/view/empty_text.h"
#include "monitor_gui/view/roles.h"
#include "monitor_gui/view/table_style.h"
#include "monitor_gui/view/units.h"

namespace weir::monitor {

Cell UnknownCell() { return {QString("–"), {}}; }
Cell NumberCell(std::int64_t number) {
  return {QString::number(number), static_cast<qlonglong>(number)};
}
Cell SecondsCell(double seconds) { return {Seconds(seconds), seconds}; }
Cell BytesCell(double bytes) { return {Bytes(bytes), bytes}; }
Cell TimesCell(double ratio) { return {Times(ratio), ratio}; }

TextTable::TextTable(std::vector<Column> columns, QObject* parent)
    : QAbstractTableModel(parent), columns_(std::move(columns)) {}

void TextTable::Show(std::vector<Cells> rows) {
  if (rows == rows_) return;
  if (rows.size() == rows_.size()) {
    rows_ = std::move(rows);
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    return;
  }
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

QTableView* TextTable::MakeView(int stretched, const QString& empty_text, QWidget* parent) {
  auto* view = new QTableView(parent);
  auto* sorted = new QSortFilterProxyModel(view);
  sorted->setSourceModel(this);
  sorted->setSortRole(kValueRole);
  view->setModel(sorted);
  view->setSortingEnabled(true);
  view->sortByColumn(-1, Qt::AscendingOrder);  // As they come.
  StyleTable(*view, stretched);
  new EmptyText(*view, empty_text);
  return view;
}

int TextTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int TextTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QVariant TextTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto column = static_cast<std::size_t>(index.column());
  if (role == Qt::TextAlignmentRole) {
    return QVariant((columns_[column].is_number ? Qt::AlignRight : Qt::AlignLeft) |
                    Qt::AlignVCenter);
  }
  const Cell& cell = rows_[static_cast<std::size_t>(index.row())][column];
  if (role == kValueRole) return cell.value;
  return role == Qt::DisplayRole ? QVariant(cell.text) : QVariant();
}

QVariant TextTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const Column& column = columns_[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  if (role == Qt::TextAlignmentRole) {
    return QVariant((column.is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role == kUnitRole) return column.unit;
  return role == Qt::ToolTipRole ? QVariant(column.explanation) : QVariant();
}

}  // namespace weir::monitor
