#include "metrics/http/connection.h"

#include <array>
#include <limits>
#include <utility>

namespace weir {
namespace {

using Result = HttpStream::Result;

// A reader that goes on talking is not listened to for ever.
constexpr std::size_t kMostDiscarded = 65536;

short EventsOf(Result::State state) {
  return state == Result::State::kWaitsToWrite ? POLLOUT : POLLIN;
}

}  // namespace

HttpConnection::HttpConnection(std::unique_ptr<HttpStream> stream, const Patience& patience,
                               std::int64_t now_ns)
    : stream_(std::move(stream)), patience_(patience) {
  Enter(State::kReading, patience_.request_ns, now_ns);
}

void HttpConnection::Enter(State state, std::int64_t patience_ns, std::int64_t now_ns) {
  state_ = state;
  progress_ns_ = now_ns;
  deadline_ns_ = now_ns + patience_ns;
}

short HttpConnection::events() const {
  // Who answers is waited for; a reader that goes meanwhile is noticed when it is written to.
  return state_ == State::kAnswering || state_ == State::kClosed ? short{0} : wants_;
}

std::optional<std::string> HttpConnection::OnReady(std::int64_t now_ns) {
  switch (state_) {
    case State::kReading:
      return Read(now_ns);
    case State::kWriting:
      Write(now_ns);
      return std::nullopt;
    case State::kParting:
      Discard();
      return std::nullopt;
    case State::kAnswering:
    case State::kClosed:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> HttpConnection::Read(std::int64_t now_ns) {
  std::array<char, 2048> buffer;
  while (true) {
    const Result result = stream_->Read(buffer);
    if (result.state == Result::State::kClosed) state_ = State::kClosed;
    if (result.state != Result::State::kMoved) {
      wants_ = EventsOf(result.state);
      return std::nullopt;
    }
    head_.append(buffer.data(), result.bytes);
    const auto length = HttpHeadLength(head_);
    if (!length && head_.size() < kMostHead) continue;
    // What has no end in sight is handed on as it is, and refused.
    head_.resize(length.value_or(head_.size()));
    // Until it is answered, which has deadlines of its own.
    Enter(State::kAnswering, std::numeric_limits<std::int64_t>::max() / 2, now_ns);
    return std::exchange(head_, {});
  }
}

void HttpConnection::Answer(std::string text, std::int64_t now_ns) {
  if (state_ == State::kClosed) return;
  answer_ = std::move(text);
  Enter(State::kWriting, patience_.progress_ns, now_ns);
  Write(now_ns);
}

void HttpConnection::Write(std::int64_t now_ns) {
  while (waiting_bytes() > 0) {
    const Result result = stream_->Write(std::string_view(answer_).substr(written_));
    if (result.state == Result::State::kClosed) state_ = State::kClosed;
    if (result.state != Result::State::kMoved) {
      wants_ = EventsOf(result.state);
      return;
    }
    written_ += result.bytes;
    Enter(State::kWriting, patience_.progress_ns, now_ns);
  }
  answer_ = {};
  written_ = 0;
  stream_->EndWriting();
  wants_ = POLLIN;
  // Closed at once, with something unread, the connection would take the answer with it.
  Enter(State::kParting, patience_.parting_ns, now_ns);
  Discard();
}

void HttpConnection::Discard() {
  std::array<char, 2048> buffer;
  while (discarded_ < kMostDiscarded) {
    const Result result = stream_->Read(buffer);
    if (result.state == Result::State::kClosed) break;
    if (result.state != Result::State::kMoved) {
      wants_ = EventsOf(result.state);
      return;
    }
    discarded_ += result.bytes;
  }
  state_ = State::kClosed;
}

void HttpConnection::OnTime(std::int64_t now_ns) {
  if (now_ns >= deadline_ns_) Close();
}

void HttpConnection::Close() {
  state_ = State::kClosed;
  answer_ = {};
  written_ = 0;
}

}  // namespace weir
