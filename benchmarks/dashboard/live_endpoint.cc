#include "benchmarks/dashboard/live_endpoint.h"

#include <QRegularExpression>
#include <algorithm>

#include "common/clock.h"

namespace weir::bench {
namespace {

constexpr int kTickMs = 200;  // A rank makes blocks for its followers as often.
constexpr std::size_t kDetailBlocks = 20;
constexpr qsizetype kAnswerBytes = 4 << 20;
constexpr std::int64_t kDetailedSteps = 40;  // Before the job is followed.

void Send(QTcpSocket* socket, const QByteArray& body) {
  socket->write("HTTP/1.1 200 OK\r\nContent-Length: " + QByteArray::number(body.size()) +
                "\r\n\r\n" + body);
}

}  // namespace

LiveRank::LiveRank(const JobShape& shape, int rank, std::int64_t start_ns)
    : made_(shape, rank, start_ns, {.pause_ns = 0}) {
  connect(&server_, &QTcpServer::newConnection, this, &LiveRank::OnConnection);
  server_.listen(QHostAddress::LocalHost);
}

void LiveRank::Publish(std::int64_t step) {
  for (LogBlock& block : made_.Take(step, true)) {
    newest_ = block.number;
    const auto level = block.level;
    auto& shelf = level == LogBlock::Level::kLasting    ? lasting_
                  : level == LogBlock::Level::kOverview ? overview_
                                                        : detail_;
    shelf.push_back(std::move(block));
  }
  while (detail_.size() > kDetailBlocks) detail_.pop_front();
  std::erase_if(waiting_, [this](const Waiting& who) {
    if (newest_ <= who.after) return false;
    Send(who.socket, BlocksAfter(who.after));
    return true;
  });
}

void LiveRank::OnConnection() {
  while (QTcpSocket* const socket = server_.nextPendingConnection()) {
    connect(socket, &QTcpSocket::readyRead, this, [this, socket] { OnRequest(socket); });
    connect(socket, &QTcpSocket::disconnected, this, [this, socket] {
      std::erase_if(waiting_, [socket](const Waiting& who) { return who.socket == socket; });
      socket->deleteLater();
    });
  }
}

void LiveRank::OnRequest(QTcpSocket* socket) {
  if (!socket->peek(socket->bytesAvailable()).contains("\r\n\r\n")) return;
  const QByteArray request = socket->readAll();
  if (request.startsWith("GET /targets")) return Send(socket, targets_);
  static const QRegularExpression kAfter("after=(\\d+)");
  const std::uint64_t after = kAfter.match(QString::fromLatin1(request)).captured(1).toULongLong();
  if (newest_ > after) return Send(socket, BlocksAfter(after));
  waiting_.push_back({socket, after});
}

QByteArray LiveRank::BlocksAfter(std::uint64_t number) const {
  std::vector<const LogBlock*> blocks;
  for (const auto* shelf : {&lasting_, &overview_, &detail_}) {
    const auto first = std::ranges::upper_bound(*shelf, number, {}, &LogBlock::number);
    for (auto block = first; block != shelf->end(); ++block) blocks.push_back(&*block);
  }
  std::ranges::sort(blocks, {}, &LogBlock::number);
  QByteArray answer;
  for (const LogBlock* block : blocks) {
    const auto bytes = static_cast<qsizetype>(block->bytes.size());
    if (!answer.isEmpty() && answer.size() + bytes > kAnswerBytes) break;
    answer.append(block->bytes.data(), bytes);
  }
  return answer;
}

LiveEndpoint::LiveEndpoint(const JobShape& shape) : shape_(shape), next_step_(shape.steps) {
  const std::int64_t start_ns = NowNs() - shape.steps * shape.step_ns();
  QByteArray targets;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& made = *ranks_.emplace_back(std::make_unique<LiveRank>(shape, rank, start_ns));
    for (std::int64_t step = 0; step < shape.steps; ++step)
      made.AddStep(step, step >= shape.steps - kDetailedSteps);
    made.Publish(shape.steps - 1);
    targets += (rank == 0 ? "" : ",") +
               QString(R"({"targets": ["127.0.0.1:%1"], "labels": {"rank": "%2"}})")
                   .arg(made.port())
                   .arg(rank)
                   .toUtf8();
  }
  ranks_.front()->SetTargets("[" + targets + "]");
  connect(&timer_, &QTimer::timeout, this, &LiveEndpoint::Tick);
  timer_.start(kTickMs);
  clock_.start();
}

QString LiveEndpoint::url() const {
  return QString("http://127.0.0.1:%1").arg(ranks_.front()->port());
}

void LiveEndpoint::Tick() {
  const std::int64_t due = shape_.steps + clock_.nsecsElapsed() / shape_.step_ns();
  if (due == next_step_) return;
  for (const auto& rank : ranks_) {
    for (std::int64_t step = next_step_; step < due; ++step) rank->AddStep(step, true);
    rank->Publish(due - 1);
  }
  next_step_ = due;
}

}  // namespace weir::bench
