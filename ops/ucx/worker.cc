#include "ops/ucx/worker.h"

#include <utility>

#include "weir/error.h"

namespace weir::ucx {

Worker::Worker(std::shared_ptr<Context> context) : context_(std::move(context)) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  const ucs_status_t status = api().worker_create(context_->get(), &params, &worker_);
  if (status != UCS_OK) {
    throw Error("UCX cannot make a worker: " + context_->TextOf(status));
  }
}

Worker::~Worker() { api().worker_destroy(worker_); }

std::string Worker::Address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = api().worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) {
    throw Error("UCX cannot tell its address: " + context_->TextOf(status));
  }
  std::string text(reinterpret_cast<const char*>(address), bytes);
  api().worker_release_address(worker_, address);
  return text;
}

}  // namespace weir::ucx
