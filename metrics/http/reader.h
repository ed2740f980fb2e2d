#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "metrics/http/http_server.h"

namespace weir {

/// A connection and its state. It asks for one thing and is closed. Times are those of NowNs().
struct HttpReader {
  enum class State {
    kAsking,     ///< The head has not arrived yet.
    kAnswering,  ///< A worker makes the answer; the connection is suspended.
    kTaking,     ///< The answer is being sent.
    kLeaving,    ///< Given up; libmicrohttpd will notice.
  };

  /// Number of bytes of the answer that have not been sent.
  std::size_t unread_bytes() const { return response.body.size() - taken_bytes; }

  MHD_Connection* connection = nullptr;
  int fd = -1;
  State state = State::kAsking;
  std::int64_t began_ns = 0;
  std::int64_t progress_ns = 0;  ///< Time of the last progress, at first began_ns.
  std::string target{};          ///< Path and query, as they were sent.
  HttpResponse response{};       ///< While kAnswering: used by the worker.
  std::size_t taken_bytes = 0;
};

}  // namespace weir
