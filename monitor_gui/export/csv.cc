#include "monitor_gui/export/csv.h"

namespace weir::monitor {
namespace {

constexpr int kDigits = 10;

QString Field(const QVariant& value) {
  if (!value.isValid()) return {};
  if (value.typeId() == QMetaType::Double) return QString::number(value.toDouble(), 'g', kDigits);
  QString text = value.toString();
  const bool plain =
      !text.contains(',') && !text.contains('"') && !text.contains('\n') && !text.contains('\r');
  return plain ? text : "\"" + text.replace("\"", "\"\"") + "\"";
}

void AppendLine(const QStringList& fields, QByteArray& csv) {
  csv += fields.join(',').toUtf8() + "\r\n";
}

}  // namespace

QString WithUnit(const QString& title, const QString& unit) {
  return unit.isEmpty() ? title : title + " [" + unit + "]";
}

QByteArray CsvOf(const Table& table) {
  QByteArray csv;
  QStringList fields;
  for (const QString& title : table.header) fields += Field(title);
  AppendLine(fields, csv);
  for (const QVariantList& row : table.rows) {
    fields.clear();
    for (qsizetype column = 0; column < table.header.size(); ++column)
      fields += Field(row.value(column));
    AppendLine(fields, csv);
  }
  return csv;
}

}  // namespace weir::monitor
