// Hostile readers, on a server whose process goes on working.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <list>
#include <string>
#include <thread>

#include "metrics/http/http_server.h"
#include "tests/metrics/http/http_get.h"
#include "tests/metrics/http/raw_reader.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMegabyte = 1 << 20;

/// Answers "/small" and "/large", a mebibyte.
std::map<std::string, HttpServer::Handler> Pages() {
  return {{"/small", [](const std::string&) { return HttpResponse{.body = "here\n"}; }},
          {"/large",
           [](const std::string&) { return HttpResponse{.body = std::string(kMegabyte, 'x')}; }}};
}

/// Answers of "/large" that fit into what is kept unread, beside one of "/small".
constexpr std::ptrdiff_t kKept = HttpServer::kMostUnreadBytes / kMegabyte - 1;

/// How many get all of "/large", when they begin to read now.
std::ptrdiff_t WholeAnswers(std::list<RawReader>& readers) {
  return std::ranges::count_if(
      readers, [](RawReader& reader) { return reader.ReadAll().size() > kMegabyte; });
}

void ExpectAnswers(const HttpServer& server) {
  const HttpReply reply = HttpGet(server.port(), "/small");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "here\n");
}

TEST(HostileReaders, FiveHundredIdleConnectionsAreInNobodysWay) {
  const HttpServer server({}, Pages());
  std::list<RawReader> idle;
  for (int i = 0; i < 500; ++i) {
    idle.emplace_back(server.port());
    if (i % 100 == 0) ExpectAnswers(server);
  }
  ExpectAnswers(server);
  // The first ones made room for the others, and there are no more than the server keeps.
  EXPECT_TRUE(idle.front().IsClosed());
  std::size_t open = 0;
  for (RawReader& reader : idle) open += reader.SeemsOpen() ? 1 : 0;
  EXPECT_LE(open, HttpServer::kMostReaders);
}

TEST(HostileReaders, HalfRequestsAreInNobodysWay) {
  const HttpServer server({}, Pages());
  std::list<RawReader> half;
  for (int i = 0; i < 64; ++i) {
    half.emplace_back(server.port()).Send("GET /small HTTP/1.1\r\nHost: ");
  }
  ExpectAnswers(server);
  // Whoever finishes is answered.
  half.back().Send("localhost\r\n\r\n");
  EXPECT_THAT(half.back().ReadAll(), HasSubstr("here"));
}

TEST(HostileReaders, WhoStopsReadingCostsNobodyButItself) {
  const HttpServer server({}, Pages());
  std::list<RawReader> deaf;
  for (int i = 0; i < 100; ++i) {
    deaf.emplace_back(server.port(), /*receive_bytes=*/4096).Send("GET /large HTTP/1.1\r\n\r\n");
  }
  ExpectAnswers(server);
  // A hundred mebibytes would be more than is kept: some went, and no more than had to.
  const auto whole = WholeAnswers(deaf);
  EXPECT_GE(whole, kKept);
  EXPECT_LT(whole, 2 * kKept);
}

TEST(HostileReaders, WhoStopsReadingTakesNobodyElsesPlace) {
  const HttpServer server({}, Pages());
  RawReader asking(server.port());
  asking.Send("GET /small HTTP/1.1\r\n");
  std::list<RawReader> deaf;
  for (int i = 0; i < 100; ++i) {
    deaf.emplace_back(server.port(), /*receive_bytes=*/4096).Send("GET /large HTTP/1.1\r\n\r\n");
  }
  ExpectAnswers(server);
  EXPECT_LT(WholeAnswers(deaf), 100) << "no more was unread than is kept";
  asking.Send("\r\n");
  EXPECT_THAT(asking.ReadAll(), HasSubstr("here"));
}

TEST(HostileReaders, ARequestWithoutEndIsRefused) {
  const HttpServer server({}, Pages());
  RawReader line(server.port());
  line.Send("GET /" + std::string(20000, 'a'));
  EXPECT_THAT(line.ReadAll(), HasSubstr("HTTP/1.1 414 "));
  RawReader headers(server.port());
  headers.Send("GET /small HTTP/1.1\r\n");
  for (int i = 0; i < 1000; ++i) headers.Send("X-Header: more and more\r\n");
  EXPECT_THAT(headers.ReadAll(), HasSubstr("HTTP/1.1 431 "));
  ExpectAnswers(server);
}

TEST(HostileReaders, WhatIsNoRequestIsRefused) {
  const HttpServer server({}, Pages());
  for (const std::string text :
       {"GET small HTTP/1.1\r\n\r\n", "GET /small\r\n\r\n", "GET http://a/small HTTP/1.1\r\n\r\n",
        "GET /small HTTP/1\r\n\r\n", "GET /small HTTP/1.1\r\nno colon\r\n\r\n",
        "\x16\x03\x01\x02 TLS to a server without\r\n\r\n"}) {
    RawReader reader(server.port());
    reader.Send(text);
    EXPECT_THAT(reader.ReadAll(), HasSubstr("HTTP/1.1 400 ")) << text;
  }
}

TEST(HostileReaders, ALineOfOneWordIsNotAnswered) {
  const HttpServer server({}, Pages());
  RawReader reader(server.port());
  reader.Send("hello\r\n\r\n");
  EXPECT_TRUE(reader.IsClosed());
}

TEST(HostileReaders, EmptyLinesBeforeARequestAreSkipped) {
  const HttpServer server({}, Pages());
  RawReader reader(server.port());
  reader.Send("\r\n\r\nGET /small HTTP/1.1\r\n\r\n");
  EXPECT_THAT(reader.ReadAll(), HasSubstr("here"));
}

TEST(HostileReaders, WhoGoesInTheMiddleLeavesNothingBehind) {
  const HttpServer server({}, Pages());
  for (int i = 0; i < 300; ++i) {
    RawReader reader(server.port());
    reader.Send(i % 2 == 0 ? "GET /large HTTP/1.1\r\n\r\n" : "GET /la");
  }
  ExpectAnswers(server);
}

TEST(HostileReaders, AWrongTokenIsRefusedHoweverOften) {
  const HttpServer server({.token = "secret"}, Pages());
  for (int i = 0; i < 300; ++i) {
    const std::string guess = "Authorization: Bearer guess" + std::to_string(i);
    ASSERT_EQ(HttpGet(server.port(), "/small", guess).status, 401);
  }
  EXPECT_EQ(HttpGet(server.port(), "/small", "authorization: Bearer secret").status, 200)
      << "names of headers have no case";
}

TEST(HostileReaders, AProcessThatIsOutOfDescriptorsServesAgainOnceItHasSome) {
  const HttpServer server({}, Pages());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  RawReader waiting(server.port());
  ExpectAnswers(server);  // By now the connection of `waiting` has been taken.
  {
    std::list<UniqueFd> taken;
    const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    RawReader late(server.port());
    for (int fd = 0; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.emplace_back(fd);
    late.Send("GET /small HTTP/1.1\r\n\r\n");
    // The idle one goes for it, or it waits until there is room.
    taken.clear();
    EXPECT_THAT(late.ReadAll(), HasSubstr("here"));
  }
  setrlimit(RLIMIT_NOFILE, &before);
  ExpectAnswers(server);
}

TEST(HostileReaders, AnAnswerThatTakesLongHoldsUpNoOther) {
  std::atomic<bool> finish = false;
  std::map<std::string, HttpServer::Handler> pages = Pages();
  pages["/long"] = [&](const std::string&) {
    finish.wait(false);
    return HttpResponse{.body = "at last\n"};
  };
  const HttpServer server({}, pages);
  RawReader patient(server.port());
  patient.Send("GET /long HTTP/1.1\r\n\r\n");
  ExpectAnswers(server);
  finish = true;
  finish.notify_all();
  EXPECT_THAT(patient.ReadAll(), HasSubstr("at last"));
}

}  // namespace
}  // namespace weir
