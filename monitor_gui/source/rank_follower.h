#pragma once

#include <QNetworkAccessManager>
#include <QObject>
#include <QUrl>
#include <cstdint>
#include <functional>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Makes a request for `path` of an endpoint, with the token, if it needs one.
QNetworkRequest RequestOf(const QUrl& endpoint, const QString& path, const QString& token);
/// Describes a failure, for people.
QString TroubleOf(const QNetworkReply& reply);

/// Follows one rank's log (/log), answer by answer.
class RankFollower final : public QObject {
  Q_OBJECT
 public:
  struct Environment {
    QNetworkAccessManager& network;
    SharedRun& run;
    QString token;
    std::function<void(const Block&)> keep;  ///< Called with every block.
  };
  /// `rank`: -1 when the endpoint must tell.
  RankFollower(const QUrl& endpoint, int rank, const Environment& environment);

  void Start() { Ask(); }
  const QUrl& endpoint() const { return endpoint_; }
  int rank() const { return rank_; }

 private:
  void Ask();
  void OnAnswer(QNetworkReply* reply);
  void OnTrouble(const QString& why);

  const QUrl endpoint_;
  int rank_;
  const Environment environment_;
  QString job_;  // The job that `after_` belongs to.
  std::uint64_t after_ = 0;
  int failures_ = 0;
};

}  // namespace weir::monitor
