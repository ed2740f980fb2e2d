#include "tests/monitor_gui/source/fake_endpoint.h"

#include <QRegularExpression>

namespace weir::monitor {

FakeEndpoint::FakeEndpoint() {
  connect(&server_, &QTcpServer::newConnection, this, &FakeEndpoint::OnConnection);
  Listen();
}

void FakeEndpoint::Listen() {
  server_.listen(QHostAddress::LocalHost, port_);
  port_ = server_.serverPort();
}

void FakeEndpoint::Close() { server_.close(); }

QString FakeEndpoint::address() const { return QString("127.0.0.1:%1").arg(port_); }

void FakeEndpoint::Add(MadeBlock block) {
  blocks_.append(block.Note("number", blocks_.size() + 1).Bytes());
}

void FakeEndpoint::BeginJob(const QString& job) {
  job_ = job;
  blocks_.clear();
}

void FakeEndpoint::HoldAnswers(bool hold) {
  hold_ = hold;
  if (hold) return;
  for (const auto& [socket, request] : std::exchange(held_, {}))
    if (socket != nullptr) Send(*socket, Answer(request));
}

void FakeEndpoint::Send(QTcpSocket& socket, const QByteArray& answer) {
  socket.write(answer);
  socket.disconnectFromHost();
}

void FakeEndpoint::OnConnection() {
  while (QTcpSocket* const socket = server_.nextPendingConnection()) {
    connect(socket, &QTcpSocket::disconnected, socket, &QObject::deleteLater);
    connect(socket, &QTcpSocket::readyRead, this, [this, socket] {
      const QByteArray request = socket->readAll();
      if (hold_ && request.startsWith("GET /log")) {
        held_.emplace_back(socket, request);
      } else {
        Send(*socket, Answer(request));
      }
    });
  }
}

QByteArray FakeEndpoint::Answer(const QByteArray& request) {
  const auto response = [](const char* status, const QByteArray& body) {
    return QByteArray("HTTP/1.1 ") + status +
           "\r\nConnection: close\r\nContent-Length: " + QByteArray::number(body.size()) +
           "\r\n\r\n" + body;
  };
  if (!token_.isEmpty() && !request.contains("Authorization: Bearer " + token_)) {
    return response("401 Unauthorized", "");
  }
  if (request.startsWith("GET /targets")) {
    return targets_.isEmpty() ? response("404 Not Found", "") : response("200 OK", targets_);
  }
  ++logs_asked_;
  const auto match = QRegularExpression("after=(\\d+)").match(QString::fromLatin1(request));
  qsizetype after = match.captured(1).toLongLong();
  const auto job = QRegularExpression("job=([0-9a-f]+)").match(QString::fromLatin1(request));
  const bool of_another = job.hasMatch() && !job_.isEmpty() && job.captured(1) != job_;
  if (after > blocks_.size() || of_another) after = 0;
  QByteArray body;
  for (qsizetype i = after; i < blocks_.size(); ++i) body += blocks_[i];
  return response("200 OK", body);
}

}  // namespace weir::monitor
