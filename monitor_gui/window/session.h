#pragma once

#include <QTemporaryDir>
#include <QThread>
#include <memory>

#include "monitor_gui/run/run.h"
#include "monitor_gui/source/source.h"

namespace weir::monitor {

/// A run and the source that fills it, on a thread of its own.
class Session final : public QObject {
  Q_OBJECT
 public:
  /// `place`: the URL of an endpoint, the path of a run log, or kDemoPlace. `token`: for URLs.
  Session(const QString& place, const QString& token);
  ~Session() override;

  const QString& place() const { return place_; }
  /// The place, for people.
  QString title() const { return is_demo() ? tr("Demo") : place_; }
  /// True if a place is the address of a job, not the path of a recording.
  static bool IsUrl(const QString& place);
  bool is_live() const { return is_live_; }
  bool is_demo() const { return demo_folder_ != nullptr; }
  SharedRun& run() { return run_; }
  const SharedRun& run() const { return run_; }

  void Start();
  /// Writes a live run's later blocks to a file, too.
  void Record(const QString& path);
  void StopRecording();

 signals:
  void Said(const QString& what);
  void Finished();
  void Failed(const QString& why);
  void RecordingEnded(const QString& why);

 private:
  const QString place_;
  const bool is_live_;
  std::unique_ptr<QTemporaryDir> demo_folder_;
  SharedRun run_;
  QThread thread_;
  Source* source_ = nullptr;  // Lives, and ends, on the thread.
};

}  // namespace weir::monitor
