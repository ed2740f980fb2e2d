#include "metrics/http/readers.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

using State = HttpReader::State;

constexpr std::int64_t kRequestNs = 10'000'000'000;  // For the whole head, the handshake included.

}  // namespace

HttpReader* HttpReaders::Add(MHD_Connection* connection, std::int64_t now_ns) {
  const int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  readers_.push_back(
      {.connection = connection, .fd = fd, .began_ns = now_ns, .progress_ns = now_ns});
  HttpReader& reader = readers_.back();
  const auto stay = std::ranges::count_if(
      readers_, [](const HttpReader& one) { return one.state != State::kLeaving; });
  if (std::cmp_greater(stay, HttpServer::kMostReaders) && !GiveUpIdlest(&reader)) GiveUp(reader);
  return &reader;
}

void HttpReaders::Remove(const HttpReader* reader) {
  readers_.remove_if([&](const HttpReader& one) { return &one == reader; });
}

/// libmicrohttpd has no call that closes a connection; it sees a reader that has hung up.
void HttpReaders::GiveUp(HttpReader& reader) {
  reader.state = State::kLeaving;
  shutdown(reader.fd, SHUT_RDWR);
}

void HttpReaders::GiveUpLate(std::int64_t now_ns) {
  for (HttpReader& reader : readers_) {
    if (reader.state == State::kAsking && now_ns - reader.began_ns >= kRequestNs) GiveUp(reader);
  }
}

void HttpReaders::BoundUnread(const HttpReader* but) {
  const auto unread = [this] {
    std::size_t bytes = 0;
    for (const HttpReader& one : readers_) {
      if (one.state == State::kTaking) bytes += one.unread_bytes();
    }
    return bytes;
  };
  // Readers without an answer take none of it.
  while (unread() > HttpServer::kMostUnreadBytes && GiveUpIdlestThat(State::kTaking, but)) {
  }
}

bool HttpReaders::GiveUpIdlest(const HttpReader* but) {
  return GiveUpIdlestThat(State::kAsking, but) || GiveUpIdlestThat(State::kTaking, but);
}

bool HttpReaders::GiveUpIdlestThat(State state, const HttpReader* but) {
  HttpReader* idlest = nullptr;
  for (HttpReader& one : readers_) {
    if (one.state != state || &one == but) continue;
    if (idlest == nullptr || one.progress_ns < idlest->progress_ns) idlest = &one;
  }
  if (idlest == nullptr) return false;
  GiveUp(*idlest);
  return true;
}

void HttpReaders::ResumeAll() {
  for (const HttpReader& reader : readers_) {
    if (reader.state == State::kAnswering) MHD_resume_connection(reader.connection);
  }
}

}  // namespace weir
