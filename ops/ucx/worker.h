#pragma once

#include <memory>
#include <string>

#include "ops/ucx/context.h"

namespace weir::ucx {

/// A rank's part of one network: what its messages come to, under an address that its peers are
/// told. Destroying it takes back every message under way, whatever its peers do. Not thread-safe.
class Worker {
 public:
  /// Throws Error when UCX has no memory, descriptors or devices left.
  explicit Worker(std::shared_ptr<Context> context);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const Context& context() const { return *context_; }
  const Api& api() const { return context_->api(); }
  ucp_worker_h get() const { return worker_; }
  /// Returns the address for peers: a few hundred bytes, any values.
  std::string Address() const;

 private:
  const std::shared_ptr<Context> context_;
  ucp_worker_h worker_ = nullptr;
};

}  // namespace weir::ucx
