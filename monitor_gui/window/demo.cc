#include "monitor_gui/window/demo.h"

#include <QDir>
#include <QFile>

namespace weir::monitor {
namespace {

constexpr const char* kResource = ":/demo/demo.weirlog";

}  // namespace

QString WriteDemo(const QString& folder) {
  const QString path = QDir(folder).filePath("demo.weirlog");
  // If that fails the file is missing, and its reader reports it.
  QFile::copy(kResource, path);
  return path;
}

Run ReadDemo() {
  Run run;
  QFile file(kResource);
  if (!file.open(QIODevice::ReadOnly)) return run;
  const QByteArray bytes = file.readAll();
  for (const Block& block : ScanBlocks(bytes).blocks) {
    run.Add(block);
    run.SetLink(block.rank(), {.state = RankLink::State::kRecorded});
  }
  return run;
}

}  // namespace weir::monitor
