#include "monitor_gui/window/demo.h"

#include <QDir>
#include <QFile>

namespace weir::monitor {
namespace {

constexpr const char* kResource = ":/demo/demo.weirlog.z";

/// Returns an empty log if it cannot be read.
QByteArray Log() {
  QFile file(kResource);
  return file.open(QIODevice::ReadOnly) ? qUncompress(file.readAll()) : QByteArray();
}

}  // namespace

QString WriteDemo(const QString& folder) {
  const QString path = QDir(folder).filePath("demo.weirlog");
  // If that fails the file is missing or empty, and its reader reports it.
  if (QFile file(path); file.open(QIODevice::WriteOnly)) file.write(Log());
  return path;
}

Run ReadDemo() {
  Run run;
  const QByteArray bytes = Log();
  for (const Block& block : ScanBlocks(bytes).blocks) {
    run.Add(block);
    run.SetLink(block.rank(), {.state = RankLink::State::kRecorded});
  }
  return run;
}

}  // namespace weir::monitor
