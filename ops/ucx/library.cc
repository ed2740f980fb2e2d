#include "ops/ucx/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <type_traits>

#include "common/gpu/library_file.h"

namespace weir::ucx {
namespace {

constexpr const char* kName = "libucp.so.0";

void* Loaded(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); }

/// True if the process has another UCX already. Two would share the parts (libucs) that were loaded
/// first, as these have the same names.
bool WouldBeTheSecond(const std::string& path) {
  void* const loaded = Loaded(kName);
  return loaded != nullptr && access(path.c_str(), F_OK) == 0 && Loaded(path.c_str()) != loaded;
}

void* Open(const std::string& path) {
  if (!path.empty()) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const loaded = Loaded(kName);
  return loaded != nullptr ? loaded : dlopen(kName, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

Library Library::Load(const std::string& path) {
  Library library;
  if (library.trouble_ = DamageOf(path); !library.trouble_.empty()) return library;
  if (!path.empty() && WouldBeTheSecond(path)) {
    library.trouble_ = path +
                       " would be the second UCX of this process, as its MPI library has loaded "
                       "one: leave WEIR_UCX_LIBRARY out, or put the other's folder first in "
                       "LD_LIBRARY_PATH";
    return library;
  }
  void* const handle = Open(path);
  if (handle == nullptr) {
    library.trouble_ = dlerror();
  } else {
    library.Find(handle, path.empty() ? kName : path);
  }
  return library;
}

void Library::Find(void* handle, const std::string& name) {
  const auto find = [&](auto& function, const char* symbol) {
    // A handle finds the names of the libraries that its own needs, too.
    void* const found = dlsym(handle, symbol);
    if (found == nullptr && trouble_.empty()) trouble_ = name + " is not UCX: it has no " + symbol;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  decltype(&ucp_get_version) get_version = nullptr;
  find(get_version, "ucp_get_version");
  if (!trouble_.empty()) return;
  unsigned major = 0, minor = 0, release = 0;
  get_version(&major, &minor, &release);
  version_ = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  if (major != 1 || minor < kOldestMinor) {
    trouble_ = name + " is UCX " + version_ + ", and 1." + std::to_string(kOldestMinor) +
               " or a newer 1.x is needed";
    return;
  }
  find(api_.init_version, "ucp_init_version");
  find(api_.cleanup, "ucp_cleanup");
  find(api_.config_read, "ucp_config_read");
  find(api_.config_modify, "ucp_config_modify");
  find(api_.config_release, "ucp_config_release");
  find(api_.worker_create, "ucp_worker_create");
  find(api_.worker_destroy, "ucp_worker_destroy");
  find(api_.worker_get_address, "ucp_worker_get_address");
  find(api_.worker_release_address, "ucp_worker_release_address");
  find(api_.worker_progress, "ucp_worker_progress");
  find(api_.worker_flush_nbx, "ucp_worker_flush_nbx");
  find(api_.ep_create, "ucp_ep_create");
  find(api_.tag_send_nbx, "ucp_tag_send_nbx");
  find(api_.tag_recv_nbx, "ucp_tag_recv_nbx");
  find(api_.tag_recv_request_test, "ucp_tag_recv_request_test");
  find(api_.request_check_status, "ucp_request_check_status");
  find(api_.request_cancel, "ucp_request_cancel");
  find(api_.request_free, "ucp_request_free");
  find(api_.status_string, "ucs_status_string");
  find(api_.set_global_option, "ucs_global_opts_set_value");
}

}  // namespace weir::ucx
