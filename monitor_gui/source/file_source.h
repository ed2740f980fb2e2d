#pragma once

#include <QStringList>
#include <QThread>
#include <cstddef>
#include <memory>
#include <vector>

#include "monitor_gui/log/log_file.h"
#include "monitor_gui/run/run.h"
#include "monitor_gui/source/source.h"

namespace weir::monitor {

/// The files of a run's ranks that lie beside this one: run.weirlog, run.rank1.weirlog, ... Only
/// itself when there are no others.
QStringList FilesOfRun(const QString& path);

/// Reads run logs, level by level: what all ranks did in short, then the newest stages, then the
/// gradients, some of all times first.
class FileSource final : public Source {
  Q_OBJECT
 public:
  /// `path`: of any rank. `run` must outlive it.
  FileSource(const QString& path, SharedRun& run) : path_(path), run_(run) {}

 public slots:
  void Start() override;

 private:
  /// A block of a file.
  struct Place {
    LogFile* file;
    const LogFile::Entry* entry;
  };
  /// False, and Failed is emitted: a file cannot be read.
  bool OpenFiles(const QStringList& paths);
  /// In their order, but for those of different files.
  void Read(const std::vector<Place>& places);
  void ReadPart(const std::vector<Place>& places, const QThread& thread);
  /// Those of the newest run of each rank: a file may go on with another one. And only where it is
  /// of this job, if that is known.
  std::vector<Place> PlacesOf(LogFile& file, const QString& job);
  std::vector<Place> Overview() const;
  /// As many as a run keeps.
  std::vector<Place> NewestStages() const;
  std::vector<Place> Gradients() const;

  const QString path_;
  SharedRun& run_;
  std::vector<std::unique_ptr<LogFile>> files_;
  std::vector<Place> places_;
  std::ptrdiff_t others_ = 0;  // Ranks of other jobs, in files beside.
};

}  // namespace weir::monitor
