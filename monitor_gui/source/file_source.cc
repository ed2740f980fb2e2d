#include "monitor_gui/source/file_source.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <span>
#include <stdexcept>

namespace weir::monitor {
namespace {

constexpr std::size_t kBlocksAtATime = 64;

/// Why a file cannot be read.
struct Unreadable : std::runtime_error {
  explicit Unreadable(const QString& why) : std::runtime_error(why.toStdString()) {}
};

}  // namespace

QStringList FilesOfRun(const QString& path) {
  const QFileInfo given(path);
  const QRegularExpression of_rank("^(.*)\\.rank\\d+$");
  const QRegularExpressionMatch match = of_rank.match(given.completeBaseName());
  const QString stem = match.hasMatch() ? match.captured(1) : given.completeBaseName();
  const QString suffix = given.suffix().isEmpty() ? "" : "." + given.suffix();

  QStringList files;
  const QFileInfo first(given.dir(), stem + suffix);
  if (first.exists()) files += first.filePath();
  const QRegularExpression sibling("^" + QRegularExpression::escape(stem) + "\\.rank\\d+" +
                                   QRegularExpression::escape(suffix) + "$");
  const QStringList names = given.dir().entryList(QDir::Files, QDir::Name);
  for (const QString& name : names) {
    if (sibling.match(name).hasMatch()) files += given.dir().filePath(name);
  }
  return files.isEmpty() ? QStringList{path} : files;
}

void FileSource::Start() {
  qsizetype damaged = 0;
  const QStringList files = FilesOfRun(path_);
  for (const QString& file : files) {
    emit Said(tr("reading %1").arg(file));
    try {
      damaged += Read(file);
    } catch (const Unreadable& why) {
      emit Failed(tr("cannot read %1: %2").arg(file, QString::fromUtf8(why.what())));
      return;
    }
  }
  emit Said(damaged == 0 ? tr("%1, %2 files").arg(path_).arg(files.size())
                         : tr("%1: %2 bytes are damaged and left out").arg(path_).arg(damaged));
  emit Finished();
}

qsizetype FileSource::Read(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) throw Unreadable(file.errorString());
  if (file.size() == 0) throw Unreadable(tr("it is empty"));
  const uchar* const bytes = file.map(0, file.size());
  if (bytes == nullptr) throw Unreadable(file.errorString());
  const BlockScan scan =
      ScanBlocks(QByteArrayView(reinterpret_cast<const char*>(bytes), file.size()));
  if (scan.blocks.empty()) throw Unreadable(tr("it is no run log (weirrun --record makes one)"));
  std::span<const Block> rest(scan.blocks);
  while (!rest.empty()) {
    const auto some = rest.first(std::min(rest.size(), kBlocksAtATime));
    rest = rest.subspan(some.size());
    run_.Write([&](Run& run) {
      for (const Block& block : some) {
        run.Add(block);
        run.SetLink(block.rank(), {.state = RankLink::State::kRecorded});
      }
    });
  }
  return scan.damaged + (file.size() - scan.used);
}

}  // namespace weir::monitor
