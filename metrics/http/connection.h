#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/http/request.h"
#include "metrics/http/stream.h"

namespace weir {

/// One reader: its request comes in, its answer goes out, as fast or slowly as it likes, within
/// time-outs. Never blocks, holds at most kMostHead bytes and the answer. Not thread-safe. Times
/// are those of NowNs().
class HttpConnection {
 public:
  static constexpr std::size_t kMostHead = 8192;

  enum class State {
    kReading,    ///< The head has not come yet.
    kAnswering,  ///< It has; somebody makes the answer.
    kWriting,    ///< The answer goes out.
    kParting,    ///< It has; the reader is left the time to read it.
    kClosed,
  };
  struct Patience {
    std::int64_t request_ns = 10'000'000'000;   ///< For the whole head, the handshake included.
    std::int64_t progress_ns = 10'000'000'000;  ///< Of the answer: without a byte taken.
    std::int64_t parting_ns = 2'000'000'000;
  };

  HttpConnection(std::unique_ptr<HttpStream> stream, const Patience& patience, std::int64_t now_ns);

  State state() const { return state_; }
  int fd() const { return stream_->fd(); }
  /// What to poll for; 0: nothing.
  short events() const;
  /// When OnTime is due; what happened last.
  std::int64_t deadline_ns() const { return deadline_ns_; }
  std::int64_t progress_ns() const { return progress_ns_; }
  /// Of the answer, what has not gone out.
  std::size_t waiting_bytes() const { return answer_.size() - written_; }

  /// The socket is ready. Returns the head of a request once it is whole, then nothing more.
  std::optional<std::string> OnReady(std::int64_t now_ns);
  /// Gives up what is late.
  void OnTime(std::int64_t now_ns);
  void Close();
  /// The whole answer.
  void Answer(std::string text, std::int64_t now_ns);

 private:
  std::optional<std::string> Read(std::int64_t now_ns);
  void Write(std::int64_t now_ns);
  void Discard();
  void Enter(State state, std::int64_t patience_ns, std::int64_t now_ns);

  const std::unique_ptr<HttpStream> stream_;
  const Patience patience_;
  State state_ = State::kReading;
  short wants_ = POLLIN;  // Of TLS, whichever way the bytes go.
  std::int64_t deadline_ns_ = 0;
  std::int64_t progress_ns_ = 0;
  std::string head_;
  std::string answer_;
  std::size_t written_ = 0;
  std::size_t discarded_ = 0;
};

}  // namespace weir
