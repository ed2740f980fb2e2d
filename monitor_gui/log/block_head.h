#pragma once

#include <QByteArray>
#include <QByteArrayView>
#include <QHash>
#include <QString>
#include <memory>
#include <vector>

namespace weir::monitor {

/// What the head of a block of a run log says (docs/reference/run-log.md). What it does not say is
/// 0, but for the rank.
struct BlockHead {
  struct Column {
    QString name;
    QString type;         ///< As NumPy spells it.
    qsizetype width = 0;  ///< Bytes of a value.
  };
  using Columns = std::vector<Column>;

  QString kind;
  int rank = -1;
  qint64 number = 0;                       ///< Of the block, by its rank.
  qint64 rows = 0;                         ///< Of a table.
  qint64 text_bytes = 0;                   ///< Of a text.
  qint64 lost = 0;                         ///< Of "stages": records.
  qint64 blocks = 0;                       ///< Of a "gap".
  std::shared_ptr<const Columns> columns;  ///< Null: none.
};

/// Reads heads. Those of a kind have the same columns, which are the most of a head: they are
/// parsed once, and shared. Not thread-safe.
class HeadReader {
 public:
  /// Of a text that is no JSON object, a head that says nothing.
  BlockHead Read(QByteArrayView json);

 private:
  /// By their text. Few: a log with many is one that nobody wrote.
  QHash<QByteArray, std::shared_ptr<const BlockHead::Columns>> columns_;
};

}  // namespace weir::monitor
