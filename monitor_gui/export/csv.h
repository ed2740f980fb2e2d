#pragma once

#include <QByteArray>
#include <QStringList>
#include <QVariant>
#include <vector>

namespace weir::monitor {

/// Numbers and texts for a file. Column titles include the unit: "Step time [s]".
struct Table {
  QStringList header;
  std::vector<QVariantList> rows;  ///< An invalid value, or a short row, means unknown.
};

/// Returns "title [unit]", or only the title.
QString WithUnit(const QString& title, const QString& unit);
/// Writes the table as in RFC 4180, in UTF-8: a line for the header and one for each row.
QByteArray CsvOf(const Table& table);

}  // namespace weir::monitor
