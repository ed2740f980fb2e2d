#include <gtest/gtest.h>

#include "metrics/http/request.h"

namespace weir {
namespace {

TEST(HttpRequest, HasMethodPathQueryAndAuthorization) {
  const auto request = ParseHttpRequest(
      "GET /events?after=7&wait=1 HTTP/1.1\r\nHost: a\r\nAUTHORIZATION: \t Bearer x y \r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/events");
  EXPECT_EQ(request->query, "after=7&wait=1");
  EXPECT_EQ(request->authorization, "Bearer x y");
}

TEST(HttpRequest, WithoutQueryOrHeadersTheyAreEmpty) {
  const auto request = ParseHttpRequest("HEAD / HTTP/1.0\n\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "HEAD");
  EXPECT_EQ(request->path, "/");
  EXPECT_EQ(request->query, "");
  EXPECT_EQ(request->authorization, "");
}

TEST(HttpRequest, OtherWordsAreNone) {
  for (const char* head :
       {"", "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n",
        " / HTTP/1.1\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n"}) {
    EXPECT_FALSE(ParseHttpRequest(head)) << head;
  }
}

TEST(HttpRequest, AHeadEndsWithItsFirstEmptyLine) {
  EXPECT_FALSE(HttpHeadLength(""));
  EXPECT_FALSE(HttpHeadLength("GET / HTTP/1.1\r\nHost: a\r\n"));
  EXPECT_EQ(HttpHeadLength("ab\r\n\r\nmore\n\n"), 6U);
  EXPECT_EQ(HttpHeadLength("ab\n\nmore\r\n\r\n"), 4U);
}

}  // namespace
}  // namespace weir
