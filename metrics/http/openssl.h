#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string>

namespace weir {

/// The functions of OpenSSL 3 that are needed, from the library of the machine: loaded once, when
/// first asked for, and never unloaded. libweir itself does not depend on it.
struct OpenSsl {
  // NOLINTBEGIN(readability-identifier-naming): the library's own names.
  decltype(&::TLS_server_method) TLS_server_method;
  decltype(&::SSL_CTX_new) SSL_CTX_new;
  decltype(&::SSL_CTX_free) SSL_CTX_free;
  decltype(&::SSL_CTX_ctrl) SSL_CTX_ctrl;
  decltype(&::SSL_CTX_set_default_passwd_cb) SSL_CTX_set_default_passwd_cb;
  decltype(&::SSL_CTX_use_certificate_chain_file) SSL_CTX_use_certificate_chain_file;
  decltype(&::SSL_CTX_use_PrivateKey_file) SSL_CTX_use_PrivateKey_file;
  decltype(&::SSL_CTX_check_private_key) SSL_CTX_check_private_key;
  decltype(&::SSL_new) SSL_new;
  decltype(&::SSL_free) SSL_free;
  decltype(&::SSL_set_fd) SSL_set_fd;
  decltype(&::SSL_set_accept_state) SSL_set_accept_state;
  decltype(&::SSL_read) SSL_read;
  decltype(&::SSL_write) SSL_write;
  decltype(&::SSL_shutdown) SSL_shutdown;
  decltype(&::SSL_get_error) SSL_get_error;
  decltype(&::ERR_get_error) ERR_get_error;
  decltype(&::ERR_clear_error) ERR_clear_error;
  decltype(&::ERR_error_string_n) ERR_error_string_n;
  // NOLINTEND(readability-identifier-naming)

  /// Throws InvalidArgument when the machine has none. Thread-safe.
  static const OpenSsl& Get();
  /// What it says of its last failure on this thread.
  std::string LastError() const;
};

}  // namespace weir
