#include "metrics/http/tls.h"

#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "metrics/http/openssl.h"
#include "weir/error.h"

namespace weir {
namespace {

/// A key with a passphrase: nobody is there to be asked.
int NoPassphrase(char*, int, int, void*) { return -1; }

class TlsStream final : public HttpStream {
 public:
  TlsStream(const OpenSsl& openssl, SSL* session, UniqueFd socket)
      : openssl_(openssl), session_(session), socket_(std::move(socket)) {}
  ~TlsStream() override { openssl_.SSL_free(session_); }

  int fd() const override { return socket_.get(); }
  Result Read(std::span<char> buffer) override {
    openssl_.ERR_clear_error();
    return After(openssl_.SSL_read(session_, buffer.data(), Size(buffer.size())));
  }
  Result Write(std::string_view bytes) override {
    openssl_.ERR_clear_error();
    return After(openssl_.SSL_write(session_, bytes.data(), Size(bytes.size())));
  }
  void EndWriting() override {
    openssl_.ERR_clear_error();
    openssl_.SSL_shutdown(session_);
    shutdown(fd(), SHUT_WR);
  }

 private:
  static int Size(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
  }
  Result After(int n) const {
    if (n > 0) return {.state = Result::State::kMoved, .bytes = static_cast<std::size_t>(n)};
    switch (openssl_.SSL_get_error(session_, n)) {
      case SSL_ERROR_WANT_READ:
        return {.state = Result::State::kWaitsToRead};
      case SSL_ERROR_WANT_WRITE:
        return {.state = Result::State::kWaitsToWrite};
      default:
        return {.state = Result::State::kClosed};
    }
  }

  const OpenSsl& openssl_;
  SSL* const session_;
  const UniqueFd socket_;
};

}  // namespace

class Tls::Context {
 public:
  Context(const std::string& certificate, const std::string& key)
      : openssl_(OpenSsl::Get()),
        context_(openssl_.SSL_CTX_new(openssl_.TLS_server_method()), openssl_.SSL_CTX_free) {
    Require(context_ != nullptr, "cannot start TLS");
    openssl_.SSL_CTX_ctrl(context_.get(), SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
    // A write that was cut short goes on where the text has been moved to meanwhile.
    openssl_.SSL_CTX_ctrl(context_.get(), SSL_CTRL_MODE,
                          SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                          nullptr);
    openssl_.SSL_CTX_set_default_passwd_cb(context_.get(), NoPassphrase);
    Require(
        openssl_.SSL_CTX_use_certificate_chain_file(context_.get(), certificate.c_str()) == 1,
        "WEIR_METRICS_CERTIFICATE=" + certificate + " is no certificate in PEM that can be read");
    Require(
        openssl_.SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM) == 1,
        "WEIR_METRICS_KEY=" + key +
            " is no key in PEM, without a passphrase, that can be read and fits the certificate");
    Require(openssl_.SSL_CTX_check_private_key(context_.get()) == 1,
            "WEIR_METRICS_KEY=" + key + " does not fit WEIR_METRICS_CERTIFICATE=" + certificate);
  }

  std::unique_ptr<HttpStream> MakeStream(UniqueFd socket) const {
    SSL* const session = openssl_.SSL_new(context_.get());
    if (session == nullptr) return nullptr;
    openssl_.SSL_set_fd(session, socket.get());
    openssl_.SSL_set_accept_state(session);
    return std::make_unique<TlsStream>(openssl_, session, std::move(socket));
  }

 private:
  void Require(bool holds, const std::string& otherwise) const {
    if (!holds) throw InvalidArgument(otherwise + ": " + openssl_.LastError());
  }

  const OpenSsl& openssl_;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
};

Tls::Tls(const std::string& certificate, const std::string& key)
    : context_(std::make_unique<Context>(certificate, key)) {}
Tls::~Tls() = default;

std::unique_ptr<HttpStream> Tls::MakeStream(UniqueFd socket) const {
  return context_->MakeStream(std::move(socket));
}

}  // namespace weir
