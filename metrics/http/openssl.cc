#include "metrics/http/openssl.h"

#include <dlfcn.h>

#include <array>

#include "weir/error.h"

namespace weir {
namespace {

[[noreturn]] void ThrowMissing() {
  const char* why = dlerror();
  throw InvalidArgument(
      "WEIR_METRICS_CERTIFICATE asks for TLS, which needs OpenSSL 3 on every host of the job: " +
      std::string(why == nullptr ? "libssl.so.3 cannot be loaded" : why) +
      "; install it (Debian: libssl3), or leave the certificate out");
}

template <typename Function>
void Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) ThrowMissing();
}

OpenSsl Load() {
  void* const library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) ThrowMissing();
  OpenSsl loaded{};
#define WEIR_FIND(name) Find(library, #name, loaded.name)
  WEIR_FIND(TLS_server_method);
  WEIR_FIND(SSL_CTX_new);
  WEIR_FIND(SSL_CTX_free);
  WEIR_FIND(SSL_CTX_ctrl);
  WEIR_FIND(SSL_CTX_set_default_passwd_cb);
  WEIR_FIND(SSL_CTX_use_certificate_chain_file);
  WEIR_FIND(SSL_CTX_use_PrivateKey_file);
  WEIR_FIND(SSL_CTX_check_private_key);
  WEIR_FIND(SSL_new);
  WEIR_FIND(SSL_free);
  WEIR_FIND(SSL_set_fd);
  WEIR_FIND(SSL_set_accept_state);
  WEIR_FIND(SSL_read);
  WEIR_FIND(SSL_write);
  WEIR_FIND(SSL_shutdown);
  WEIR_FIND(SSL_get_error);
  WEIR_FIND(ERR_get_error);
  WEIR_FIND(ERR_clear_error);
  WEIR_FIND(ERR_error_string_n);
#undef WEIR_FIND
  return loaded;
}

}  // namespace

const OpenSsl& OpenSsl::Get() {
  static const OpenSsl loaded = Load();
  return loaded;
}

std::string OpenSsl::LastError() const {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return text.data();
}

}  // namespace weir
