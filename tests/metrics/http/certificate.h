#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>
#include <string>

namespace weir {

/// Makes a self-signed certificate of 127.0.0.1 for a day, and its key, as two files in PEM.
/// `passphrase` encrypts the key.
inline void MakeCertificate(const std::string& certificate, const std::string& key,
                            const std::string& passphrase = {}) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> pair(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> made(X509_new(), X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 24L * 60 * 60);
  X509_set_pubkey(made.get(), pair.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  const auto* text = reinterpret_cast<const unsigned char*>("127.0.0.1");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  X509_sign(made.get(), pair.get(), EVP_sha256());
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  PEM_write_X509(File(std::fopen(certificate.c_str(), "w"), std::fclose).get(), made.get());
  PEM_write_PKCS8PrivateKey(File(std::fopen(key.c_str(), "w"), std::fclose).get(), pair.get(),
                            passphrase.empty() ? nullptr : EVP_aes_128_cbc(),
                            passphrase.empty() ? nullptr : passphrase.c_str(),
                            static_cast<int>(passphrase.size()), nullptr, nullptr);
}

}  // namespace weir
