#pragma once

#include <QAbstractTableModel>
#include <QStringList>
#include <QTableView>
#include <vector>

namespace weir::monitor {

/// A small table of texts that are made anew each time.
class TextTable final : public QAbstractTableModel {
  Q_OBJECT
 public:
  struct Column {
    QString title;
    QString explanation;
    bool is_number = false;
  };
  TextTable(std::vector<Column> columns, QObject* parent);

  void Show(std::vector<QStringList> rows);
  /// A view of it, that stretches this column.
  QTableView* MakeView(int stretched, QWidget* parent);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const std::vector<Column> columns_;
  std::vector<QStringList> rows_;
};

}  // namespace weir::monitor
