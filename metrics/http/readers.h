#pragma once

#include <microhttpd.h>

#include <cstdint>
#include <list>

#include "metrics/http/reader.h"

namespace weir {

/// All connections of a server, and which of them go when there are too many or one takes too long:
/// libmicrohttpd would stop accepting instead. Not thread-safe: all calls are those of the thread
/// that runs the daemon.
class HttpReaders {
 public:
  /// May give up another one, or this one, when there are kMostReaders.
  HttpReader* Add(MHD_Connection* connection, std::int64_t now_ns);
  /// The connection is closed.
  void Remove(const HttpReader* reader);
  bool empty() const { return readers_.empty(); }

  /// Gives up those whose request has not come in time, however busily they send it.
  void GiveUpLate(std::int64_t now_ns);
  /// Gives up others than `but` that take an answer, until what is not read fits into
  /// kMostUnreadBytes.
  void BoundUnread(const HttpReader* but);
  /// Gives up the one that has been idle for longest: of those that have not asked for anything, if
  /// there are any. False when all others are being worked for.
  bool GiveUpIdlest(const HttpReader* but = nullptr);
  /// A daemon must not be stopped while a connection is suspended.
  void ResumeAll();

 private:
  bool GiveUpIdlestThat(HttpReader::State state, const HttpReader* but);
  static void GiveUp(HttpReader& reader);

  std::list<HttpReader> readers_;
};

}  // namespace weir
