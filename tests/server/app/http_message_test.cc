#include "server/app/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace winnow::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(HttpHeadEndTest, TheHeadEndsAfterTheEmptyLine) {
  EXPECT_EQ(HttpHeadEnd(""), std::nullopt);
  EXPECT_EQ(HttpHeadEnd("GET / HTTP/1.1\r\n"), std::nullopt);
  EXPECT_EQ(HttpHeadEnd("GET / HTTP/1.1\r\n\r\nrest"), 18u);
}

TEST(ParseHttpHeadTest, PathAndHostAreTaken) {
  HttpResponse refusal;
  const auto request =
      ParseHttpHead("HEAD /metrics?x=1 HTTP/1.1\r\nhost:  a:7 \r\nA: b\r\n\r\n", refusal);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_EQ(request->host, "a:7");
  EXPECT_TRUE(request->head_only);
}

TEST(ParseHttpHeadTest, WhatIsNotServedIsRefusedWithItsStatus) {
  const std::pair<const char*, int> cases[] = {
      {"", 400},
      {"\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/2\r\n\r\n", 400},
      {"GET http://a/ HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\n\r\n", 405},
      {"get / HTTP/1.1\r\n\r\n", 405},
      {"GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 413},
      {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
  };
  for (const auto& [head, status] : cases) {
    HttpResponse refusal;
    EXPECT_FALSE(ParseHttpHead(head, refusal).has_value()) << head;
    EXPECT_EQ(refusal.status, status) << head;
  }
}

TEST(EncodeHttpResponseTest, TheAnswerSaysItsSizeAndClosesTheConnection) {
  const std::string answer = EncodeHttpResponse({.status = 503, .body = "draining\n"}, false);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, HasSubstr("default-src 'none'"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\ndraining\n"));
  EXPECT_THAT(EncodeHttpResponse({.body = "x"}, true), EndsWith("\r\n\r\n"));
}

TEST(IsLoopbackHostTest, OnlyNamesOfThisMachineAreLoopback) {
  for (const char* host :
       {"localhost", "localhost:80", "127.0.0.1:7071", "127.9.9.9", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"", "example.com", "127.0.0.1.example.com", "localhost.example.com:80",
                           "10.0.0.1", "[::2]:80"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

}  // namespace
}  // namespace winnow::server
