#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QTableView>
#include <QVariant>
#include <cstdint>
#include <vector>

namespace weir::monitor {

/// A text of a table, and the number behind it, in the column's unit: to sort by and to export.
struct Cell {
  QString text;
  QVariant value;  ///< Invalid: not known.

  Cell(const QString& plain) : text(plain), value(plain) {}
  Cell(const QString& shown, const QVariant& behind) : text(shown), value(behind) {}
  bool operator==(const Cell&) const = default;
};
using Cells = std::vector<Cell>;
/// "–".
Cell UnknownCell();
Cell NumberCell(std::int64_t number);
Cell SecondsCell(double seconds);
Cell BytesCell(double bytes);
Cell TimesCell(double ratio);

/// A small table of texts that are made anew each time.
class TextTable final : public QAbstractTableModel {
  Q_OBJECT
 public:
  struct Column {
    QString title;
    QString explanation;
    bool is_number = false;
    QString unit{};  ///< Of the numbers behind the texts.
  };
  TextTable(std::vector<Column> columns, QObject* parent);

  void Show(std::vector<Cells> rows);
  /// A view of it, that stretches this column, and sorts. `empty_text`: while it has no rows.
  QTableView* MakeView(int stretched, const QString& empty_text, QWidget* parent);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const std::vector<Column> columns_;
  std::vector<Cells> rows_;
};

}  // namespace weir::monitor
