#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "ops/transport.h"

namespace weir {

/// Another transport that tells somebody of all that is sent.
class CountingTransport final : public Transport {
 public:
  using OnSend = std::function<void(int peer, std::size_t bytes)>;

  CountingTransport(std::unique_ptr<Transport> inner, OnSend on_send)
      : inner_(std::move(inner)), on_send_(std::move(on_send)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::uint32_t operation_numbers() const override { return inner_->operation_numbers(); }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    on_send_(peer, data.size());
    return inner_->Send(peer, tag, data);
  }
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override {
    return inner_->Receive(peer, tag, buffer);
  }
  std::optional<std::size_t> Test(Request request) override { return inner_->Test(request); }
  void Cancel(Request request) override { inner_->Cancel(request); }
  bool SetWake(std::function<void()> wake) override { return inner_->SetWake(std::move(wake)); }
  std::int64_t next_due_ns() const override { return inner_->next_due_ns(); }
  void Close() override { inner_->Close(); }
  NetworkTotals totals() const override { return inner_->totals(); }

 private:
  std::unique_ptr<Transport> inner_;
  const OnSend on_send_;
};

}  // namespace weir
