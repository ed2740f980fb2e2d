#include "monitor_gui/view/text_table.h"

#include <utility>

#include "monitor_gui/view/table_style.h"

namespace weir::monitor {

TextTable::TextTable(std::vector<Column> columns, QObject* parent)
    : QAbstractTableModel(parent), columns_(std::move(columns)) {}

void TextTable::Show(std::vector<QStringList> rows) {
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

QTableView* TextTable::MakeView(int stretched, QWidget* parent) {
  auto* view = new QTableView(parent);
  view->setModel(this);
  StyleTable(*view, stretched);
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
  if (role != Qt::DisplayRole) return {};
  return rows_[static_cast<std::size_t>(index.row())].value(index.column());
}

QVariant TextTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const Column& column = columns_[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  return role == Qt::ToolTipRole ? QVariant(column.explanation) : QVariant();
}

}  // namespace weir::monitor
