#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "ops/transport/transport.h"

namespace weir {

/// One message under way, or none: a request and its outcome. Movable only while idle.
class Pending {
 public:
  void Send(Transport& transport, int peer, Tag tag, std::span<const std::byte> data) {
    request_ = transport.Send(peer, tag, data);
  }
  void Receive(Transport& transport, int peer, Tag tag, std::span<std::byte> buffer) {
    request_ = transport.Receive(peer, tag, buffer);
  }

  /// True when nothing is under way (any more).
  bool Done(Transport& transport) {
    if (!request_) return true;
    const Transport::Request request = *request_;
    request_.reset();  // a Test that throws forgets it too
    const std::optional<std::size_t> bytes = transport.Test(request);
    if (!bytes) {
      request_ = request;
      return false;
    }
    bytes_ = *bytes;
    return true;
  }
  /// Length of the last message that completed.
  std::size_t bytes() const { return bytes_; }

  void Cancel(Transport& transport) {
    if (request_) transport.Cancel(*request_);
    request_.reset();
  }

 private:
  std::optional<Transport::Request> request_;
  std::size_t bytes_ = 0;
};

}  // namespace weir
