#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QVariant>
#include <functional>
#include <utility>
#include <vector>

#include "monitor_gui/view/tables/roles.h"

namespace weir::monitor {

/// Head of a column.
struct ColumnHead {
  QString title;
  QString explanation;
  bool is_number = false;
  QString unit{};  ///< Unit of the numbers behind the texts.

  Qt::Alignment alignment() const {
    return (is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter;
  }
};

/// A column of a table whose rows are all of one type.
template <typename Row>
struct RowColumn {
  ColumnHead head;
  /// Value for sorting and export; an invalid one is unknown, and shown as "–".
  std::function<QVariant(const Row&)> value;
  /// Text of a cell. Called only for visible cells.
  std::function<QString(const Row&)> text;
  std::function<QString(const Row&)> tool_tip{};
};

/// A table of rows that are made anew each time. `Row` has an operator==.
template <typename Row>
class RowTable : public QAbstractTableModel {
 public:
  explicit RowTable(std::vector<RowColumn<Row>> columns, QObject* parent = nullptr)
      : QAbstractTableModel(parent), columns_(std::move(columns)) {}

  /// Views lay out again only rows that differ.
  void Show(std::vector<Row> rows) {
    if (rows.size() != rows_.size()) {
      beginResetModel();
      rows_ = std::move(rows);
      endResetModel();
      return;
    }
    int first = -1;
    int last = -1;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row] == rows_[row]) continue;
      last = static_cast<int>(row);
      if (first < 0) first = last;
    }
    if (first < 0) return;
    rows_ = std::move(rows);
    emit dataChanged(index(first, 0), index(last, columnCount() - 1));
  }
  const std::vector<Row>& rows() const { return rows_; }

  int rowCount(const QModelIndex& parent = {}) const final {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }
  int columnCount(const QModelIndex& parent = {}) const final {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }

  QVariant data(const QModelIndex& index, int role) const final {
    if (!index.isValid()) return {};
    const RowColumn<Row>& column = columns_[static_cast<std::size_t>(index.column())];
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    switch (role) {
      case kValueRole:
        return column.value(row);
      case Qt::DisplayRole:
        return column.value(row).isValid() ? column.text(row) : QString("–");
      case Qt::ToolTipRole:
        return column.tool_tip ? QVariant(column.tool_tip(row)) : QVariant();
      case Qt::TextAlignmentRole:
        return QVariant(column.head.alignment());
      default:
        return {};
    }
  }

  QVariant headerData(int section, Qt::Orientation orientation, int role) const final {
    if (orientation != Qt::Horizontal) return {};
    const ColumnHead& head = columns_[static_cast<std::size_t>(section)].head;
    switch (role) {
      case Qt::DisplayRole:
        return head.title;
      case Qt::ToolTipRole:
        return head.explanation;
      case kUnitRole:
        return head.unit;
      case Qt::TextAlignmentRole:
        return QVariant(head.alignment());
      default:
        return {};
    }
  }

 private:
  const std::vector<RowColumn<Row>> columns_;
  std::vector<Row> rows_;
};

}  // namespace weir::monitor
