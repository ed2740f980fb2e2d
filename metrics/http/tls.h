#pragma once

#include <memory>
#include <string>

#include "common/unique_fd.h"
#include "metrics/http/stream.h"

namespace weir {

/// Encrypts what readers are sent: TLS 1.2 or newer, by the OpenSSL 3 of the machine, which is
/// loaded only where somebody asks for it. Streams may outlive it. Thread-safe.
class Tls {
 public:
  /// Files in PEM: the certificate with its chain, and its key. Throws InvalidArgument that names
  /// the file, or says that there is no OpenSSL.
  Tls(const std::string& certificate, const std::string& key);
  ~Tls();

  /// Takes over a connected socket that does not block. Null when the process is out of memory. Who
  /// uses it has to block SIGPIPE: OpenSSL writes without asking for none.
  std::unique_ptr<HttpStream> MakeStream(UniqueFd socket) const;

 private:
  class Context;
  const std::unique_ptr<Context> context_;
};

}  // namespace weir
