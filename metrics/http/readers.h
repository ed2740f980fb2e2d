#pragma once

#include <microhttpd.h>

#include <cstdint>
#include <list>

#include "metrics/http/reader.h"

namespace weir {

/// All connections of a server. Closes some when there are too many or one takes too
/// long; libmicrohttpd would stop accepting instead. Not thread-safe: only the thread
/// that runs the daemon calls it.
class HttpReaders {
 public:
  /// Adds a reader. May give up another one, or this one, when there are kMostReaders.
  HttpReader* Add(MHD_Connection* connection, std::int64_t now_ns);
  /// Called when the connection is closed.
  void Remove(const HttpReader* reader);
  bool empty() const { return readers_.empty(); }

  /// Gives up readers whose request is not complete in time, however busily they send it.
  void GiveUpLate(std::int64_t now_ns);
  /// Gives up readers that take an answer, except `but`, until unread
  /// answers fit into kMostUnreadBytes.
  void BoundUnread(const HttpReader* but);
  /// Gives up the reader that has been idle longest; prefers readers that have not asked for
  /// anything. False when all others are being answered.
  bool GiveUpIdlest(const HttpReader* but = nullptr);
  /// Resumes all: the daemon must not be stopped while a connection is suspended.
  void ResumeAll();

 private:
  bool GiveUpIdlestThat(HttpReader::State state, const HttpReader* but);
  static void GiveUp(HttpReader& reader);

  std::list<HttpReader> readers_;
};

}  // namespace weir
