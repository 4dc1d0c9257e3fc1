#include "server/app/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::StatusIs;

HttpResponse Echo(const HttpRequest& request, bool exposed) {
  return {.body = absl::StrCat(request.path, exposed ? " exposed" : " local")};
}

absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                  HttpServer::Handler handler) {
  WINNOW_ASSIGN_OR_RETURN(auto server, HttpServer::Listen(std::move(options)));
  server->Open(std::move(handler));
  return server;
}

int Connect(const std::string& address) {
  int32_t port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  const timeval patience{.tv_sec = 20};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return fd;
}

// Reads until the server closes the connection.
std::string ReadAll(int fd) {
  std::string all;
  char bytes[1024];
  ssize_t taken = 0;
  while ((taken = recv(fd, bytes, sizeof(bytes), 0)) > 0) all.append(bytes, taken);
  EXPECT_EQ(taken, 0) << "the server did not close the connection";
  close(fd);
  return all;
}

std::string Ask(const std::string& address, absl::string_view request) {
  const int fd = Connect(address);
  EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  return ReadAll(fd);
}

TEST(HttpServerTest, ARequestIsAnsweredAndTheConnectionClosed) {
  const auto server = Start({.listeners = {{"127.0.0.1:0"}}}, Echo);
  ASSERT_OK(server);
  const std::string answer =
      Ask((*server)->addresses()[0], "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith("/a local"));
}

TEST(HttpServerTest, ARequestBeforeItIsOpenIsAnsweredThen) {
  auto server = HttpServer::Listen({.listeners = {{"127.0.0.1:0"}}});
  ASSERT_OK(server);
  const int fd = Connect((*server)->addresses()[0]);
  constexpr absl::string_view kRequest = "GET /d HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(kRequest.size()));
  (*server)->Open(Echo);
  EXPECT_THAT(ReadAll(fd), EndsWith("/d local"));
}

TEST(HttpServerTest, ARequestMayArriveByteByByte) {
  const auto server = Start({.listeners = {{"127.0.0.1:0"}}}, Echo);
  ASSERT_OK(server);
  const int fd = Connect((*server)->addresses()[0]);
  for (const char byte : absl::string_view("GET /b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")) {
    ASSERT_EQ(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
  }
  EXPECT_THAT(ReadAll(fd), EndsWith("/b local"));
}

TEST(HttpServerTest, AnotherSitesNameIsRefusedOnLoopback) {
  const auto server = Start({.listeners = {{"127.0.0.1:0"}}}, Echo);
  ASSERT_OK(server);
  EXPECT_THAT(Ask((*server)->addresses()[0], "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask((*server)->addresses()[0], "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"));
}

TEST(HttpServerTest, AnExposedListenerTellsTheHandlerAndTakesAnyName) {
  const auto server = Start({.listeners = {{.address = "127.0.0.1:0", .exposed = true}}}, Echo);
  ASSERT_OK(server);
  EXPECT_THAT(Ask((*server)->addresses()[0], "GET /m HTTP/1.1\r\nHost: pod-7\r\n\r\n"),
              EndsWith("/m exposed"));
}

TEST(HttpServerTest, WhatIsTooLongOrNoHttpIsRefused) {
  const auto server = Start({.listeners = {{"127.0.0.1:0"}}}, Echo);
  ASSERT_OK(server);
  const std::string& address = (*server)->addresses()[0];
  EXPECT_THAT(Ask(address, "\x16\x03\x01 hello\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  // No byte more than the bound, so that nothing is left unread when the server closes.
  EXPECT_THAT(Ask(address, std::string(kMaxHttpHeadBytes + 1, 'a')), StartsWith("HTTP/1.1 431"));
}

TEST(HttpServerTest, AConnectionThatSaysNothingIsClosedInTime) {
  const auto server =
      Start({.listeners = {{"127.0.0.1:0"}}, .request_timeout = absl::Milliseconds(50)}, Echo);
  ASSERT_OK(server);
  EXPECT_EQ(ReadAll(Connect((*server)->addresses()[0])), "");
}

TEST(HttpServerTest, ConnectionsAboveTheBoundAreClosedAndOthersServed) {
  const auto server = Start({.listeners = {{"127.0.0.1:0"}}, .max_connections = 2}, Echo);
  ASSERT_OK(server);
  const std::string& address = (*server)->addresses()[0];
  const int first = Connect(address);
  const int second = Connect(address);
  EXPECT_EQ(ReadAll(Connect(address)), "");
  constexpr absl::string_view kRequest = "GET /c HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const int fd : {first, second}) {
    ASSERT_EQ(send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kRequest.size()));
    EXPECT_THAT(ReadAll(fd), EndsWith("/c local"));
  }
}

TEST(HttpServerTest, AUnixSocketIsForUserAndGroupAndGoesWithTheServer) {
  char folder[] = "/tmp/winnow_http_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = absl::StrCat(folder, "/s");
  auto server = Start({.listeners = {{"unix:" + path}}}, Echo);
  ASSERT_OK(server);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660u);
  server->reset();
  EXPECT_NE(stat(path.c_str(), &status), 0);
  EXPECT_EQ(rmdir(folder), 0);
}

TEST(HttpServerTest, AnAddressThatIsTakenIsNamed) {
  const auto first = Start({.listeners = {{"127.0.0.1:0"}}}, Echo);
  ASSERT_OK(first);
  EXPECT_THAT(Start({.listeners = {{(*first)->addresses()[0]}}}, Echo),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr(absl::StrCat("--http-listen=", (*first)->addresses()[0],
                                              ": cannot listen: the port is in use"))));
}

}  // namespace
}  // namespace winnow::server
