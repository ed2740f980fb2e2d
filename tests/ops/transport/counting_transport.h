#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "tests/ops/transport/forwarding_transport.h"

namespace weir {

/// Another transport that reports everything that is sent.
class CountingTransport final : public ForwardingTransport {
 public:
  using OnSend = std::function<void(int peer, std::size_t bytes)>;

  CountingTransport(std::unique_ptr<Transport> inner, OnSend on_send)
      : ForwardingTransport(std::move(inner)), on_send_(std::move(on_send)) {}

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    on_send_(peer, data.size());
    return inner().Send(peer, tag, data);
  }

 private:
  const OnSend on_send_;
};

}  // namespace weir
