#pragma once

#include <string>

namespace weir {

/// A certificate with its chain and its key, as PEM text that GnuTLS accepted as a pair.
class HttpCertificate {
 public:
  /// Reads two files. Throws InvalidArgument that names the wrong one.
  HttpCertificate(const std::string& certificate, const std::string& key);

  const std::string& chain() const { return chain_; }
  const std::string& key() const { return key_; }

 private:
  std::string chain_;
  std::string key_;
};

}  // namespace weir
