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

/// Follows the ranks of a running job, which rank 0 names (/targets). Goes on trying while a rank
/// does not answer, and follows the next job at the same address, whatever its ranks.
class LiveSource final : public Source {
  Q_OBJECT
 public:
  /// `url`: of rank 0, or of a single rank to follow that one alone. `token`: what readers must
  /// show (WEIR_METRICS_TOKEN), or empty. `run` must outlive it.
  LiveSource(QUrl url, QString token, SharedRun& run);
  ~LiveSource() override;

 public slots:
  void Start() override;
  /// Writes all blocks that come to a file, after those that say who runs. Says Failed's reason in
  /// RecordingEnded when it cannot.
  void Record(const QString& path);
  void StopRecording();

 signals:
  /// Empty: as asked.
  void RecordingEnded(const QString& why);

 private:
  void AskForTargets();
  void OnTargets(QNetworkReply* reply);
  /// As before where it is followed already.
  std::unique_ptr<RankFollower> Follow(const QUrl& url, int rank);
  /// These alone, from now on.
  void FollowAll(const std::vector<std::pair<int, QUrl>>& ranks);
  void Keep(const Block& block);
  /// A rank is of this job.
  void Begin(const QString& job);
  /// Into the recording, if there is one; it ends where that fails.
  void Put(QByteArrayView bytes);

  const QUrl url_;
  const QString token_;
  SharedRun& run_;
  std::unique_ptr<QNetworkAccessManager> network_;  // Made on the source's thread.
  std::vector<std::unique_ptr<RankFollower>> followers_;
  QString job_;                        // That they follow.
  std::map<int, QByteArray> lasting_;  // What says who runs, by rank.
  QByteArray stalls_;                  // What is stalled now.
  std::unique_ptr<QFile> recording_;
};

}  // namespace weir::monitor
