#pragma once

#include <QByteArray>
#include <QStringList>
#include <QVariant>
#include <vector>

namespace weir::monitor {

/// Numbers and texts to be written to a file. Columns say their unit: "Step time [s]".
struct Table {
  QStringList header;
  std::vector<QVariantList> rows;  ///< Nothing is known where a value is invalid, or a row ends.
};

/// "title [unit]", or only the title.
QString WithUnit(const QString& title, const QString& unit);
/// As RFC 4180 has it, in UTF-8: a line for the header and one for each row.
QByteArray CsvOf(const Table& table);

}  // namespace weir::monitor
