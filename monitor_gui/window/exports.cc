#include "monitor_gui/window/exports.h"

#include <QObject>
#include <QSaveFile>
#include <functional>
#include <stdexcept>

#include "monitor_gui/export/trace.h"

namespace weir::monitor {
namespace {

void Save(const QString& path, const std::function<void(QIODevice&)>& write) {
  const auto refuse = [&](const QString& why) {
    throw std::runtime_error(QObject::tr("cannot write %1: %2").arg(path, why).toStdString());
  };
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) refuse(file.errorString());
  try {
    write(file);
  } catch (const std::runtime_error& why) {
    refuse(QString::fromUtf8(why.what()));
  }
  if (!file.commit()) refuse(file.errorString());
}

void Put(const QByteArray& bytes, QIODevice& device) {
  if (device.write(bytes) != bytes.size())
    throw std::runtime_error(device.errorString().toStdString());
}

}  // namespace

void ExportPng(QWidget& window, const QString& path) {
  Save(path, [&](QIODevice& file) {
    if (!window.grab().save(&file, "PNG"))
      throw std::runtime_error(QObject::tr("the picture cannot be made").toStdString());
  });
}

void ExportCsv(const Table& table, const QString& path) {
  Save(path, [&](QIODevice& file) { Put(CsvOf(table), file); });
}

void ExportTrace(const Run& run, const QString& path) {
  Save(path, [&](QIODevice& file) { WriteTrace(run, file); });
}

}  // namespace weir::monitor
