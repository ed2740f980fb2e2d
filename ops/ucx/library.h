#pragma once

#include <ucp/api/ucp.h>

#include <string>

namespace weir::ucx {

/// UCX's functions: ep_create is ucp_ep_create. The headers of UCX 1.13 declare them; every newer
/// UCX 1 has them with the same meaning.
struct Api {
  decltype(&ucp_init_version) init_version;
  decltype(&ucp_cleanup) cleanup;
  decltype(&ucp_config_read) config_read;
  decltype(&ucp_config_modify) config_modify;
  decltype(&ucp_config_release) config_release;
  decltype(&ucp_worker_create) worker_create;
  decltype(&ucp_worker_destroy) worker_destroy;
  decltype(&ucp_worker_get_address) worker_get_address;
  decltype(&ucp_worker_release_address) worker_release_address;
  decltype(&ucp_worker_progress) worker_progress;
  decltype(&ucp_worker_flush_nbx) worker_flush_nbx;
  decltype(&ucp_ep_create) ep_create;
  decltype(&ucp_tag_send_nbx) tag_send_nbx;
  decltype(&ucp_tag_recv_nbx) tag_recv_nbx;
  decltype(&ucp_tag_recv_request_test) tag_recv_request_test;
  decltype(&ucp_request_check_status) request_check_status;
  decltype(&ucp_request_cancel) request_cancel;
  decltype(&ucp_request_free) request_free;
  decltype(&ucs_status_string) status_string;
  /// ucs_global_opts_set_value, which UCX's headers for users do not declare.
  ucs_status_t (*set_global_option)(const char* name, const char* value);
};

/// UCX's functions, if a usable library is found (common/libraries/ucx_library.h). Loading is
/// thread-safe.
class Library {
 public:
  static Library Load(const std::string& path);

  /// Null without a usable library; trouble() then says why.
  const Api* api() const { return trouble_.empty() ? &api_ : nullptr; }
  const std::string& trouble() const { return trouble_; }
  /// Version such as "1.20.1"; empty without a library.
  const std::string& version() const { return version_; }
  /// Path of the library, or its name where it was loaded already.
  const std::string& name() const { return name_; }

 private:
  Api api_{};
  std::string version_;
  std::string name_;
  std::string trouble_;
};

}  // namespace weir::ucx
