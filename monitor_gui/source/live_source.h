#pragma once

#include <QFile>
#include <QNetworkAccessManager>
#include <QUrl>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "monitor_gui/run/run.h"
#include "monitor_gui/source/rank_follower.h"
#include "monitor_gui/source/source.h"

namespace weir::monitor {

/// Follows the ranks of a running job, which rank 0 lists (/targets). Keeps trying while a rank
/// does not answer, and follows the next job at the same address, whatever its ranks.
class LiveSource final : public Source {
  Q_OBJECT
 public:
  /// `url` is rank 0's, or another rank's, to follow that one alone. `token`: the one that readers
  /// must show (WEIR_METRICS_TOKEN), or empty. `run` must outlive it.
  LiveSource(QUrl url, QString token, SharedRun& run);
  ~LiveSource() override;

 public slots:
  void Start() override;
  /// Writes all later blocks to a file, after those that identify the run. Emits RecordingEnded
  /// with the reason when it cannot.
  void Record(const QString& path);
  void StopRecording();

 signals:
  /// Empty: as requested.
  void RecordingEnded(const QString& why);

 private:
  void AskForTargets();
  void OnTargets(QNetworkReply* reply);
  /// Keeps an existing follower.
  std::unique_ptr<RankFollower> Follow(const QUrl& url, int rank);
  /// Follows only these from now on.
  void FollowAll(const std::vector<std::pair<int, QUrl>>& ranks);
  void Keep(const Block& block);
  /// Notes that a rank belongs to this job.
  void Begin(const QString& job);
  /// Writes to the recording, if there is one; it ends if that fails.
  void Put(QByteArrayView bytes);

  const QUrl url_;
  const QString token_;
  SharedRun& run_;
  std::unique_ptr<QNetworkAccessManager> network_;  // Made on the source's thread.
  std::vector<std::unique_ptr<RankFollower>> followers_;
  QString job_;                        // The job that they follow.
  std::map<int, QByteArray> lasting_;  // Blocks that identify the run, by rank.
  QByteArray stalls_;                  // The current stalls.
  std::unique_ptr<QFile> recording_;
};

}  // namespace weir::monitor
