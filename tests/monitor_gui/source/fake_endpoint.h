#pragma once

#include <QByteArray>
#include <QList>
#include <QPointer>
#include <QTcpServer>
#include <QTcpSocket>
#include <utility>
#include <vector>

#include "tests/monitor_gui/made_blocks.h"

namespace weir::monitor {

/// A rank's HTTP endpoint for tests: answers /targets with a text, and /log with the blocks after
/// the requested number, at once.
class FakeEndpoint final : public QObject {
  Q_OBJECT
 public:
  FakeEndpoint();
  /// Listens again on the port it had before.
  void Listen();
  /// Stops answering.
  void Close();

  QString address() const;  ///< "127.0.0.1:PORT"
  QString url() const { return "http://" + address(); }
  void SetTargets(const QByteArray& json) { targets_ = json; }
  void SetToken(const QByteArray& token) { token_ = token; }
  /// Adds a block with the next number.
  void Add(MadeBlock block);
  /// Starts a new job: later blocks belong to it, and earlier ones are dropped.
  void BeginJob(const QString& job);
  /// Holds answers to /log, or answers all who wait.
  void HoldAnswers(bool hold = true);
  int logs_asked() const { return logs_asked_; }

 private:
  void OnConnection();
  QByteArray Answer(const QByteArray& request);
  static void Send(QTcpSocket& socket, const QByteArray& answer);

  QTcpServer server_;
  quint16 port_ = 0;
  QByteArray targets_;  // Empty: 404.
  QByteArray token_;
  QList<QByteArray> blocks_;  // With numbers 1, 2, ...
  QString job_;               // As JobId; empty: not told.
  bool hold_ = false;
  std::vector<std::pair<QPointer<QTcpSocket>, QByteArray>> held_;  // With their requests.
  int logs_asked_ = 0;
};

}  // namespace weir::monitor
