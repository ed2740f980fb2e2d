#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "metrics/http_server.h"

namespace weir {

/// A connection, and where it is. It asks for one thing and is closed. Times are those of NowNs().
struct HttpReader {
  enum class State {
    kAsking,     ///< The head has not come yet.
    kAnswering,  ///< It has; a worker makes the answer, and the connection is suspended.
    kTaking,     ///< The answer goes out.
    kLeaving,    ///< Given up; libmicrohttpd will notice.
  };

  /// Of the answer, what has not gone out.
  std::size_t unread_bytes() const { return response.body.size() - taken_bytes; }

  MHD_Connection* connection = nullptr;
  int fd = -1;
  State state = State::kAsking;
  std::int64_t began_ns = 0;
  std::int64_t progress_ns = 0;  ///< When something was last taken, at first began_ns.
  std::string target{};          ///< Path and query, as they were sent.
  HttpResponse response{};       ///< While kAnswering: the worker's.
  std::size_t taken_bytes = 0;
};

}  // namespace weir
