#pragma once

#include <QElapsedTimer>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTimer>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/dashboard/made_job.h"

namespace weir::bench {

/// The endpoint of one rank of a made-up job: answers /log with the blocks after a number, at once
/// or as soon as there are any. Keeps the last seconds of detail.
class LiveRank final : public QObject {
  Q_OBJECT
 public:
  LiveRank(const JobShape& shape, int rank, std::int64_t start_ns);

  int port() const { return server_.serverPort(); }
  void SetTargets(const QByteArray& json) { targets_ = json; }
  void AddStep(std::int64_t step, bool detail) { made_.AddStep(step, detail); }
  /// Makes the blocks that are due, and answers waiting readers.
  void Publish(std::int64_t step);

 private:
  struct Waiting {
    QTcpSocket* socket;
    std::uint64_t after;
  };
  void OnConnection();
  void OnRequest(QTcpSocket* socket);
  QByteArray BlocksAfter(std::uint64_t number) const;

  MadeRank made_;
  QTcpServer server_;
  QByteArray targets_;
  std::deque<LogBlock> lasting_;
  std::deque<LogBlock> overview_;
  std::deque<LogBlock> detail_;
  std::uint64_t newest_ = 0;
  std::vector<Waiting> waiting_;
};

/// All ranks of a job that has made `shape.steps` steps and goes on in real time.
class LiveEndpoint final : public QObject {
  Q_OBJECT
 public:
  explicit LiveEndpoint(const JobShape& shape);
  /// URL of rank 0: "http://127.0.0.1:PORT".
  QString url() const;

 private:
  void Tick();

  const JobShape shape_;
  std::int64_t next_step_;
  std::vector<std::unique_ptr<LiveRank>> ranks_;
  QElapsedTimer clock_;
  QTimer timer_;
};

}  // namespace weir::bench
