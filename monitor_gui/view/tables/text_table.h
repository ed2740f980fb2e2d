#pragma once

#include <QString>
#include <QTableView>
#include <QVariant>
#include <cstdint>
#include <vector>

#include "monitor_gui/view/tables/row_table.h"

namespace weir::monitor {

/// A text of a table, and the number behind it, in the column's unit, for sorting and export.
struct Cell {
  QString text;
  QVariant value;  ///< Invalid: not known.

  // A plain text is a cell. NOLINTNEXTLINE(google-explicit-constructor)
  Cell(const QString& plain) : text(plain), value(plain) {}
  Cell(const QString& shown, const QVariant& behind) : text(shown), value(behind) {}
  bool operator==(const Cell&) const = default;
};
using Cells = std::vector<Cell>;
/// Returns "–".
Cell UnknownCell();
Cell NumberCell(std::int64_t number);
Cell SecondsCell(double seconds);
Cell BytesCell(double bytes);
Cell TimesCell(double ratio);

/// A small table whose cells are all written in advance.
class TextTable final : public RowTable<Cells> {
 public:
  TextTable(std::vector<ColumnHead> heads, QObject* parent);

  /// Makes a view that stretches this column, and sorts. `empty_text`: shown without rows.
  QTableView* MakeView(int stretched, const QString& empty_text, QWidget* parent);
};

}  // namespace weir::monitor
