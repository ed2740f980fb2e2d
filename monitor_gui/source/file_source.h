#pragma once

#include <QStringList>

#include "monitor_gui/run/run.h"
#include "monitor_gui/source/source.h"

namespace weir::monitor {

/// The files of a run's ranks that lie beside this one: run.weirlog, run.rank1.weirlog, ... Only
/// itself when there are no others.
QStringList FilesOfRun(const QString& path);

/// Reads run logs.
class FileSource final : public Source {
  Q_OBJECT
 public:
  /// `path`: of any rank. `run` must outlive it.
  FileSource(const QString& path, SharedRun& run) : path_(path), run_(run) {}

 public slots:
  void Start() override;

 private:
  /// Returns the bytes that are no blocks. Throws std::runtime_error: why it cannot be read.
  qsizetype Read(const QString& path);

  const QString path_;
  SharedRun& run_;
};

}  // namespace weir::monitor
