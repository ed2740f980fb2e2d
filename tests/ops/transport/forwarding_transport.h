#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "ops/transport/transport.h"

namespace weir {

/// Another transport, unchanged; derived classes override what they change.
class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::uint32_t operation_numbers() const override { return inner_->operation_numbers(); }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
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

 protected:
  Transport& inner() const { return *inner_; }
  /// For a destructor: no call may follow.
  void DropInner() { inner_.reset(); }

 private:
  std::unique_ptr<Transport> inner_;
};

}  // namespace weir
