#include "ops/ucx/library.h"

#include <type_traits>

#include "common/libraries/ucx_library.h"

namespace weir::ucx {

Library Library::Load(const std::string& path) {
  const UcxLibrary file = UcxLibrary::Load(path);
  Library library;
  library.version_ = file.version();
  library.name_ = file.name();
  library.trouble_ = file.trouble();
  if (!library.trouble_.empty()) return library;
  Api& api = library.api_;
  const auto find = [&](auto& function, const char* symbol) {
    void* const found = file.Find(symbol);
    if (found == nullptr) library.trouble_ = file.name() + " has no " + symbol;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(api.init_version, "ucp_init_version");
  find(api.cleanup, "ucp_cleanup");
  find(api.config_read, "ucp_config_read");
  find(api.config_modify, "ucp_config_modify");
  find(api.config_release, "ucp_config_release");
  find(api.worker_create, "ucp_worker_create");
  find(api.worker_destroy, "ucp_worker_destroy");
  find(api.worker_get_address, "ucp_worker_get_address");
  find(api.worker_release_address, "ucp_worker_release_address");
  find(api.worker_progress, "ucp_worker_progress");
  find(api.worker_flush_nbx, "ucp_worker_flush_nbx");
  find(api.ep_create, "ucp_ep_create");
  find(api.tag_send_nbx, "ucp_tag_send_nbx");
  find(api.tag_recv_nbx, "ucp_tag_recv_nbx");
  find(api.tag_recv_request_test, "ucp_tag_recv_request_test");
  find(api.request_check_status, "ucp_request_check_status");
  find(api.request_cancel, "ucp_request_cancel");
  find(api.request_free, "ucp_request_free");
  find(api.status_string, "ucs_status_string");
  find(api.set_global_option, "ucs_global_opts_set_value");
  return library;
}

}  // namespace weir::ucx
