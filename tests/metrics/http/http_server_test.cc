#include "metrics/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/metrics/http/http_get.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::map<std::string, HttpServer::Handler> Echo() {
  return {
      {"/echo", [](const std::string& query) { return HttpResponse{.body = query}; }},
      {"/fail", [](const std::string&) -> HttpResponse { throw std::runtime_error("broken"); }}};
}

TEST(HttpServer, AnswersAPathWithItsQuery) {
  const HttpServer server({}, Echo());
  const HttpReply reply = HttpGet(server.port(), "/echo?after=7");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "after=7");
}

TEST(HttpServer, OtherPathsMethodsAndFailuresHaveTheirStatus) {
  const HttpServer server({}, Echo());
  EXPECT_EQ(HttpGet(server.port(), "/").status, 404);
  EXPECT_THAT(HttpGet(server.port(), "/echo/x").body, HasSubstr("/echo"));
  EXPECT_EQ(HttpGet(server.port(), "/echo", "Content-Length: 0", "POST").status, 405);
  EXPECT_EQ(HttpGet(server.port(), "/fail").status, 500);
  EXPECT_EQ(HttpGet(server.port(), "/fail").body, "broken\n");
}

TEST(HttpServer, ATokenIsAskedForAndCompared) {
  const HttpServer server({.token = "secret"}, Echo());
  EXPECT_EQ(HttpGet(server.port(), "/echo").status, 401);
  EXPECT_EQ(HttpGet(server.port(), "/echo", "Authorization: Bearer secre").status, 401);
  EXPECT_EQ(HttpGet(server.port(), "/echo", "Authorization: Bearer Secret").status, 401);
  EXPECT_EQ(HttpGet(server.port(), "/echo", "Authorization: Bearer secret").status, 200);
}

}  // namespace
}  // namespace weir
