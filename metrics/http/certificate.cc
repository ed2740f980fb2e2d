#include "metrics/http/certificate.h"

#include <gnutls/gnutls.h>

#include <memory>

#include "weir/error.h"

namespace weir {
namespace {

void Require(int result, const std::string& otherwise) {
  if (result < 0) throw InvalidArgument(otherwise + ": " + gnutls_strerror(result));
}

std::string TextOf(const std::string& path, const std::string& otherwise) {
  gnutls_datum_t loaded{};
  Require(gnutls_load_file(path.c_str(), &loaded), otherwise);
  const std::unique_ptr<unsigned char, decltype(gnutls_free)> owner(loaded.data, gnutls_free);
  return {reinterpret_cast<const char*>(loaded.data), loaded.size};
}

gnutls_datum_t DatumOf(const std::string& text) {
  return {.data = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          .size = static_cast<unsigned>(text.size())};
}

}  // namespace

HttpCertificate::HttpCertificate(const std::string& certificate, const std::string& key) {
  const std::string no_certificate =
      "WEIR_METRICS_CERTIFICATE=" + certificate + " is not a readable certificate in PEM";
  const std::string no_key = "WEIR_METRICS_KEY=" + key +
                             " is not a readable key in PEM, without a passphrase, that fits "
                             "WEIR_METRICS_CERTIFICATE=" +
                             certificate;
  chain_ = TextOf(certificate, no_certificate);
  key_ = TextOf(key, no_key);
  gnutls_certificate_credentials_t made = nullptr;
  Require(gnutls_certificate_allocate_credentials(&made), "cannot start TLS");
  const std::unique_ptr<gnutls_certificate_credentials_st,
                        decltype(&gnutls_certificate_free_credentials)>
      credentials(made, gnutls_certificate_free_credentials);
  // libmicrohttpd would not say which of them is wrong, nor why.
  const gnutls_datum_t chain_datum = DatumOf(chain_);
  const gnutls_datum_t key_datum = DatumOf(key_);
  Require(gnutls_certificate_set_x509_trust_mem(made, &chain_datum, GNUTLS_X509_FMT_PEM),
          no_certificate);
  Require(gnutls_certificate_set_x509_key_mem(made, &chain_datum, &key_datum, GNUTLS_X509_FMT_PEM),
          no_key);
}

}  // namespace weir
