#include "monitor_gui/source/live_source.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QNetworkReply>
#include <QTimer>
#include <set>

#include "monitor_gui/log/job_id.h"

namespace weir::monitor {
namespace {

constexpr int kRetryMs = 1000;

QString CannotWrite(const QFile& file) {
  return QObject::tr("cannot write %1: %2").arg(file.fileName(), file.errorString());
}

}  // namespace

LiveSource::LiveSource(QUrl url, QString token, SharedRun& run)
    : url_(std::move(url)), token_(std::move(token)), run_(run) {}

LiveSource::~LiveSource() = default;

void LiveSource::Start() {
  network_ = std::make_unique<QNetworkAccessManager>();
  AskForTargets();
}

void LiveSource::AskForTargets() {
  emit Said(tr("connecting to %1").arg(url_.toString()));
  QNetworkReply* const reply = network_->get(RequestOf(url_, "/targets", token_));
  connect(reply, &QNetworkReply::finished, this, [this, reply] { OnTargets(reply); });
}

void LiveSource::OnTargets(QNetworkReply* reply) {
  reply->deleteLater();
  const int status = reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
  if (status == 404 || status == 503) {  // Not rank 0, or started without weirrun.
    FollowAll({{-1, url_}});
    emit Said(
        tr("following the one rank at %1, which does not know the others").arg(url_.toString()));
    return;
  }
  if (reply->error() != QNetworkReply::NoError) {
    emit Said(tr("%1 does not answer: %2; trying again").arg(url_.toString(), TroubleOf(*reply)));
    QTimer::singleShot(kRetryMs, this, [this] { AskForTargets(); });
    return;
  }
  std::vector<std::pair<int, QUrl>> ranks;
  const QJsonArray groups = QJsonDocument::fromJson(reply->readAll()).array();
  for (const auto& group : groups) {
    const QJsonObject labels = group.toObject()["labels"].toObject();
    const int rank = labels["rank"].toString("-1").toInt();
    const QJsonArray addresses = group.toObject()["targets"].toArray();
    for (const auto& address : addresses) {
      QUrl endpoint(url_.scheme() + "://" + address.toString());
      // Ranks know their host by a name that may mean nothing here.
      if (rank == 0) endpoint = url_;
      ranks.emplace_back(rank, endpoint);
    }
  }
  FollowAll(ranks);
  emit Said(tr("following %1 ranks at %2").arg(followers_.size()).arg(url_.toString()));
}

void LiveSource::FollowAll(const std::vector<std::pair<int, QUrl>>& ranks) {
  std::vector<std::unique_ptr<RankFollower>> followers;
  std::set<int> numbers;
  for (const auto& [rank, url] : ranks) {
    followers.push_back(Follow(url, rank));
    numbers.insert(followers.back()->rank());  // A single rank may have told its number.
  }
  followers_ = std::move(followers);
  run_.Write([&](Run& run) { run.KeepLinks(numbers); });
}

std::unique_ptr<RankFollower> LiveSource::Follow(const QUrl& url, int rank) {
  for (auto& known : followers_) {
    const bool is_same = known && known->endpoint() == url && (rank < 0 || known->rank() == rank);
    if (is_same) return std::move(known);
  }
  run_.Write([&](Run& run) {
    if (rank >= 0) run.SetLink(rank, {.state = RankLink::State::kConnecting});
  });
  auto follower = std::make_unique<RankFollower>(
      url, rank,
      RankFollower::Environment{
          .network = *network_, .run = run_, .token = token_, .keep = [this](const Block& block) {
            Keep(block);
          }});
  follower->Start();
  return follower;
}

void LiveSource::Keep(const Block& block) {
  const QString& kind = block.kind();
  if (kind == "run") Begin(block.job());
  if (kind == "run") lasting_[block.rank()].clear();
  if (kind == "run" || kind == "names" || kind == "end") lasting_[block.rank()] += block.bytes();
  if (kind == "run" && block.rank() == 0) stalls_.clear();
  if (kind == "stalls") stalls_ = block.bytes().toByteArray();
  Put(block.bytes());
}

void LiveSource::Begin(const QString& job) {
  const bool is_another = AreOfDifferentJobs(job, job_);
  if (!job.isEmpty()) job_ = job;
  if (!is_another) return;
  lasting_.clear();
  if (recording_) {  // Readers of a file with several jobs show the last one.
    const QString path = recording_->fileName();
    recording_.reset();
    emit RecordingEnded(tr("%1 is complete: another job has begun here").arg(path));
  }
  // The job may have other ranks. Not now: a follower waits for this to return.
  QTimer::singleShot(0, this, [this] { AskForTargets(); });
}

void LiveSource::Put(QByteArrayView bytes) {
  if (!recording_ || recording_->write(bytes.data(), bytes.size()) == bytes.size()) return;
  const QString why = CannotWrite(*recording_);
  recording_.reset();
  emit RecordingEnded(why);
}

void LiveSource::Record(const QString& path) {
  // A process that has mapped the old file keeps it.
  if (const QFileInfo there(path); there.isFile() && !there.isSymLink()) QFile::remove(path);
  auto file = std::make_unique<QFile>(path);
  // Unbuffered, so that a write error shows at once.
  if (!file->open(QIODevice::WriteOnly | QIODevice::Truncate | QIODevice::Unbuffered)) {
    emit RecordingEnded(CannotWrite(*file));
    return;
  }
  recording_ = std::move(file);
  for (const auto& [rank, bytes] : lasting_) Put(bytes);
  Put(stalls_);
}

void LiveSource::StopRecording() {
  recording_.reset();
  emit RecordingEnded({});
}

}  // namespace weir::monitor
