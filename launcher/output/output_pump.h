#pragma once

#include <utility>

#include "common/supervision/message_socket.h"
#include "common/unique_fd.h"

namespace weir::launcher {

/// Carries a program's output to weirrun, over a connection of its own so that a full terminal
/// holds back the program but never a heartbeat. Not thread-safe.
class OutputPump {
 public:
  /// Reads from a pipe only while fewer bytes than this wait to be sent.
  static constexpr std::size_t kMaxQueued = std::size_t{256} << 10;

  explicit OutputPump(supervision::MessageSocket connection) : connection_(std::move(connection)) {}

  void Attach(UniqueFd output, UniqueFd errors);

  /// Descriptors to poll: the pipes that are still open and wanted (else -1), and the connection.
  int output_fd() const { return Wanted() ? output_.get() : -1; }
  int errors_fd() const { return Wanted() ? errors_.get() : -1; }
  int connection_fd() const { return connection_.fd(); }
  bool wants_write() const { return connection_.open() && connection_.queued() > 0; }

  /// Moves as much as possible without blocking.
  void Pump();
  /// True if nothing more will come: the pipes have ended and all of it is sent.
  bool done() const;

 private:
  bool Wanted() const { return !connection_.open() || connection_.queued() < kMaxQueued; }
  void Read(UniqueFd& pipe, int code);

  supervision::MessageSocket connection_;
  UniqueFd output_;
  UniqueFd errors_;
};

}  // namespace weir::launcher
