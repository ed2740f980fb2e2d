#include "ops/ucx/context.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "weir/error.h"

namespace weir::ucx {
namespace {

/// Settings of UCX, without their UCX_.
using UcxSettings = std::array<std::pair<const char*, const char*>, 4>;

UcxSettings SettingsFor(Reach reach) {
  return {{
      // System V segments leave nothing behind, whenever a rank is killed; files in /dev/shm do.
      {"TLS", reach == Reach::kThisHost ? "sysv,self" : "^posix"},
      // Shared memory is left out for endpoints that report a peer's death, unless asked for.
      {"SYSV_ERROR_HANDLING", "y"},
      {"KEEPALIVE_INTERVAL", "1s"},
      // A host that does not answer would hold the network thread for minutes.
      {"TCP_CONN_NB", "y"},
  }};
}

const Api& UsableApi(const Library& library) {
  if (library.api() == nullptr) {
    throw InvalidArgument("UCX cannot be used: " + library.trouble());
  }
  return *library.api();
}

}  // namespace

Context::Context(const Library& library, Reach reach) : api_(UsableApi(library)) {
  const auto check = [this](ucs_status_t status, const std::string& what) {
    if (status != UCS_OK) throw InvalidArgument("UCX cannot " + what + ": " + TextOf(status));
  };
  // It would print what peers' deaths and our own answers to them bring along, on stdout.
  if (std::getenv("UCX_LOG_LEVEL") == nullptr) {
    check(api_.set_global_option("LOG_LEVEL", "fatal"), "be kept quiet");
  }
  ucp_config_t* config = nullptr;
  check(api_.config_read(nullptr, nullptr, &config), "read its settings (UCX_*)");
  const std::unique_ptr<ucp_config_t, decltype(api_.config_release)> release(config,
                                                                             api_.config_release);
  for (const auto& [name, value] : SettingsFor(reach)) {
    const std::string variable = std::string("UCX_") + name;
    if (std::getenv(variable.c_str()) != nullptr) continue;
    check(api_.config_modify(config, name, value), "take the setting " + variable + "=" + value);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  check(api_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_), "start");
}

Context::~Context() { api_.cleanup(context_); }

}  // namespace weir::ucx
