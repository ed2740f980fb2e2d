#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <array>
#include <fstream>
#include <list>
#include <memory>
#include <string>

#include "metrics/http/http_server.h"
#include "tests/metrics/http/certificate.h"
#include "tests/metrics/http/raw_reader.h"
#include "tests/temporary_folder.h"
#include "weir/error.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t kLarge = 5 << 20;

class HttpTls : public testing::Test {
 protected:
  HttpTls() { MakeCertificate(certificate_, key_); }

  HttpServer::Options Options() const {
    return {.token = "secret", .certificate = certificate_, .key = key_};
  }
  static std::map<std::string, HttpServer::Handler> Pages() {
    return {{"/small", [](const std::string&) { return HttpResponse{.body = "here\n"}; }},
            {"/large",
             [](const std::string&) { return HttpResponse{.body = std::string(kLarge, 'x')}; }}};
  }
  /// Answer to a reader that trusts the certificate; "" when it gets none.
  std::string Get(int port, const std::string& path) const {
    RawReader reader(port);
    const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                               SSL_CTX_free);
    SSL_CTX_load_verify_file(context.get(), certificate_.c_str());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    const std::unique_ptr<SSL, void (*)(SSL*)> session(SSL_new(context.get()), SSL_free);
    SSL_set_fd(session.get(), reader.fd());
    if (SSL_connect(session.get()) != 1) return "";
    const std::string request = "GET " + path + " HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n";
    SSL_write(session.get(), request.data(), static_cast<int>(request.size()));
    std::string text;
    std::array<char, 65536> buffer;
    int n = 0;
    while ((n = SSL_read(session.get(), buffer.data(), buffer.size())) > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    // Content-Length tells a whole answer (RFC 9112, 6.3): libmicrohttpd says goodbye only when
    // there is room for it.
    return text;
  }

  const TemporaryFolder folder_;
  const std::string certificate_ = folder_ / "certificate.pem";
  const std::string key_ = folder_ / "key.pem";
};

TEST_F(HttpTls, WhoTrustsTheCertificateIsAnswered) {
  const HttpServer server(Options(), Pages());
  EXPECT_THAT(Get(server.port(), "/small"),
              AllOf(HasSubstr("200 OK"), HasSubstr("\r\n\r\nhere\n")));
}

TEST_F(HttpTls, ALargeAnswerArrivesWhole) {
  const HttpServer server(Options(), Pages());
  const std::string text = Get(server.port(), "/large");
  EXPECT_EQ(text.size() - text.find("\r\n\r\n") - 4, kLarge);
}

TEST_F(HttpTls, PlainTextIsNotAnsweredWithAnythingOfThePages) {
  const HttpServer server(Options(), Pages());
  RawReader reader(server.port());
  reader.Send("GET /small HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n");
  EXPECT_THAT(reader.ReadAll(), testing::Not(HasSubstr("here")));
}

TEST_F(HttpTls, HandshakesThatStopHalfwayAreInNobodysWay) {
  const HttpServer server(Options(), Pages());
  std::list<RawReader> half;
  for (int i = 0; i < 300; ++i) half.emplace_back(server.port()).Send("\x16\x03\x01");
  EXPECT_THAT(Get(server.port(), "/small"), HasSubstr("here"));
}

TEST_F(HttpTls, FilesThatAreNoPairAreRefusedByName) {
  const auto start = [&](const std::string& certificate, const std::string& key) {
    return [=] { HttpServer({.certificate = certificate, .key = key}, {}); };
  };
  EXPECT_THAT(start(folder_ / "none.pem", key_),
              ThrowsMessage<InvalidArgument>(HasSubstr(
                  "WEIR_METRICS_CERTIFICATE=" + (folder_ / "none.pem") + " is not a readable")));
  EXPECT_THAT(start(certificate_, certificate_),
              ThrowsMessage<InvalidArgument>(HasSubstr("WEIR_METRICS_KEY=" + certificate_)));
  const std::string other = folder_ / "other.pem";
  const std::string locked = folder_ / "locked.pem";
  MakeCertificate(folder_ / "c.pem", other);
  MakeCertificate(folder_ / "d.pem", locked, "passphrase");
  EXPECT_THAT(start(certificate_, other), ThrowsMessage<InvalidArgument>(HasSubstr(other)));
  EXPECT_THAT(start(folder_ / "d.pem", locked),
              ThrowsMessage<InvalidArgument>(HasSubstr("without a passphrase")));
}

}  // namespace
}  // namespace weir
