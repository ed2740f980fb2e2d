#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/supervision/message_socket.h"
#include "common/supervision/proof.h"
#include "common/unique_fd.h"

namespace weir::supervision {

/// What came of a try to reach a service of the job.
struct Introduction {
  /// The connection, once both ends have proven that they know the token. Call Receive before you
  /// wait for more: messages may have come together with the proof.
  std::optional<MessageSocket> socket;
  int version = 0;  ///< kVersion of the other end, if it has proven.
  std::string why;  ///< Why there is no connection: "who listens there ...".
  /// Whether the other end has said anything. One that only closes may be about to end.
  bool answered = false;
};

/// Begins a connection with `hello`, a kHello or kOutputHello without version and text. Believes
/// nothing, and tells nothing else, before the other end has proven that it knows the token. Blocks
/// for `timeout` at most. Thread-safe.
Introduction Introduce(UniqueFd connection, Message hello, const Secret& secret,
                       std::chrono::milliseconds timeout);

}  // namespace weir::supervision
