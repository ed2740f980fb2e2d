#pragma once

#include "ops/ucx/library.h"

namespace weir::ucx {

/// Where a rank's peers are. Those of one host need no sockets, which others could come to.
enum class Reach { kThisHost, kOtherHosts };

/// UCX, set up for peers that may die. Workers follow each other in one context: what one leaves
/// behind dies with it. Outlives its workers. Not thread-safe.
class Context {
 public:
  /// Throws InvalidArgument with the reason when the library is not usable, or UCX refuses its
  /// settings, which are the user's own (UCX_*) before those of Weir.
  Context(const Library& library, Reach reach);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Api& api() const { return api_; }
  ucp_context_h get() const { return context_; }
  /// Returns "Endpoint timeout" for a status, or the like.
  std::string TextOf(ucs_status_t status) const { return api_.status_string(status); }

 private:
  const Api api_;
  ucp_context_h context_ = nullptr;
};

}  // namespace weir::ucx
