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

/// Returns the files of a run's ranks beside this one: run.weirlog, run.rank1.weirlog, ... Only the
/// file itself when there are no others.
QStringList FilesOfRun(const QString& path);

/// Reads run logs, level by level: first the overview of all ranks, then the newest stages, then
/// the gradients, beginning with some from all times.
class FileSource final : public Source {
  Q_OBJECT
 public:
  /// `path` is any rank's. `run` must outlive it.
  FileSource(const QString& path, SharedRun& run) : path_(path), run_(run) {}

 public slots:
  void Start() override;

 private:
  /// A block of a file.
  struct Place {
    LogFile* file;
    const LogFile::Entry* entry;
  };
  /// Returns false, and emits Failed, when a file cannot be read.
  bool OpenFiles(const QStringList& paths);
  /// Reads the blocks in order, except that files are read in parallel.
  void Read(const std::vector<Place>& places);
  void ReadPart(const std::vector<Place>& places, const QThread& thread);
  /// Returns the places of each rank's newest run, because a file may continue with another one.
  /// Only of this job, if that is known.
  std::vector<Place> PlacesOf(LogFile& file, const QString& job);
  std::vector<Place> Overview() const;
  /// Returns as many as a run keeps.
  std::vector<Place> NewestStages() const;
  std::vector<Place> Gradients() const;

  const QString path_;
  SharedRun& run_;
  std::vector<std::unique_ptr<LogFile>> files_;
  std::vector<Place> places_;
  std::ptrdiff_t others_ = 0;  // Ranks of other jobs, in files beside.
};

}  // namespace weir::monitor
