#include "monitor_gui/source/rank_follower.h"

#include <QDateTime>
#include <QNetworkReply>
#include <QNetworkRequest>
#include <QTimer>
#include <algorithm>

namespace weir::monitor {
namespace {

constexpr int kWaitSeconds = 5;
constexpr int kPauseMs = 200;        // After an answer without news: the rank could not wait.
constexpr int kPatienceMs = 15'000;  // Longer than an answer may wait for news.
constexpr int kFirstRetryMs = 500;
constexpr int kLongestRetryMs = 5'000;

}  // namespace

QNetworkRequest RequestOf(const QUrl& endpoint, const QString& path, const QString& token) {
  QNetworkRequest request(QUrl(endpoint.toString(QUrl::RemovePath | QUrl::RemoveQuery) + path));
  if (!token.isEmpty()) request.setRawHeader("Authorization", "Bearer " + token.toUtf8());
  request.setTransferTimeout(kPatienceMs);
  return request;
}

QString TroubleOf(const QNetworkReply& reply) {
  const int status = reply.attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
  if (status == 401) {
    return reply.request().hasRawHeader("Authorization")
               ? QObject::tr("it wants another token than that in WEIR_METRICS_TOKEN")
               : QObject::tr("it wants a token: set WEIR_METRICS_TOKEN");
  }
  if (reply.error() == QNetworkReply::SslHandshakeFailedError) {
    return QObject::tr("%1; SSL_CERT_FILE names more to trust").arg(reply.errorString());
  }
  return status == 0 ? reply.errorString() : QObject::tr("HTTP status %1").arg(status);
}

RankFollower::RankFollower(const QUrl& endpoint, int rank, const Environment& environment)
    : endpoint_(endpoint), rank_(rank), environment_(environment) {}

void RankFollower::Ask() {
  const QString path =
      QString("/log?after=%1&wait=%2&job=%3").arg(after_).arg(kWaitSeconds).arg(job_);
  QNetworkReply* const reply =
      environment_.network.get(RequestOf(endpoint_, path, environment_.token));
  reply->setParent(this);  // Deleted with it.
  connect(reply, &QNetworkReply::finished, this, [this, reply] { OnAnswer(reply); });
}

void RankFollower::OnAnswer(QNetworkReply* reply) {
  reply->deleteLater();
  if (reply->error() != QNetworkReply::NoError) return OnTrouble(TroubleOf(*reply));
  failures_ = 0;
  const QByteArray answer = reply->readAll();
  const BlockScan scan = ScanBlocks(answer);
  for (const Block& block : scan.blocks) {
    rank_ = block.rank();
    after_ = std::max(after_, static_cast<std::uint64_t>(block.head().number));
    if (block.kind() == "run") {  // Perhaps of another job than before.
      after_ = 1;
      job_ = block.job();
    }
    environment_.keep(block);
  }
  bool is_known = false;
  environment_.run.Write([&](Run& run) {
    for (const Block& block : scan.blocks) run.Add(block);
    is_known = run.ranks().contains(rank_);
    run.SetLink(rank_,
                {.state = RankLink::State::kLive, .heard_ms = QDateTime::currentMSecsSinceEpoch()});
  });
  if (!is_known) {  // A late answer of another job: the rank begins anew.
    after_ = 0;
    job_.clear();
  }
  if (scan.blocks.empty()) {
    QTimer::singleShot(kPauseMs, this, [this] { Ask(); });
  } else {
    Ask();
  }
}

void RankFollower::OnTrouble(const QString& why) {
  if (rank_ >= 0) {
    environment_.run.Write([&](Run& run) {
      const auto known = run.links().find(rank_);
      const std::int64_t heard = known == run.links().end() ? 0 : known->second.heard_ms;
      run.SetLink(rank_, {.state = RankLink::State::kLost, .detail = why, .heard_ms = heard});
    });
  }
  ++failures_;
  QTimer::singleShot(std::min(kFirstRetryMs * failures_, kLongestRetryMs), this, [this] { Ask(); });
}

}  // namespace weir::monitor
