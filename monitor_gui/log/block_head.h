#pragma once

#include <QByteArray>
#include <QByteArrayView>
#include <QHash>
#include <QString>
#include <memory>
#include <vector>

namespace weir::monitor {

/// Fields of the head of a block of a run log (docs/reference/run-log.md).
/// Missing ones are 0, except the rank.
struct BlockHead {
  struct Column {
    QString name;
    QString type;         ///< NumPy's name of the type.
    qsizetype width = 0;  ///< Bytes of a value.
  };
  using Columns = std::vector<Column>;

  QString kind;
  int rank = -1;
  qint64 number = 0;                       ///< Number of the block, counted by its rank.
  qint64 rows = 0;                         ///< Rows of a table.
  qint64 text_bytes = 0;                   ///< Bytes of a text.
  qint64 lost = 0;                         ///< Lost records, in "stages".
  qint64 blocks = 0;                       ///< Lost blocks, in a "gap".
  std::shared_ptr<const Columns> columns;  ///< Null: none.
};

/// Reads heads. Heads of a kind have the same columns, which are most of a head: they are parsed
/// once, and shared. Not thread-safe.
class HeadReader {
 public:
  /// Returns an empty head for a text that is not a JSON object.
  BlockHead Read(QByteArrayView json);

 private:
  /// By their text. Few: no engine writes a log with many.
  QHash<QByteArray, std::shared_ptr<const BlockHead::Columns>> columns_;
};

}  // namespace weir::monitor
