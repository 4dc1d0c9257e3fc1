// Who may use a server on its host: modes and users of sockets, administration, connections; and
// the pages that it serves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/integration/certificates.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

grpc::Status SendTopK(ServerProcess& server, const std::string& target) {
  v1::TopKResponse response;
  return v1::IndexerService::NewStub(server.Connect(target))
      ->TopK(Patient().get(), GoodTopK(), &response);
}

int ModeOf(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : -1;
}
gid_t GroupOf(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_gid : static_cast<gid_t>(-1);
}

// Asks on a Unix socket with curl, as an operator would.
std::string Get(const std::string& socket, const std::string& path) {
  return RunCommand(
      absl::StrCat("curl -s -m 20 -i --unix-socket ", socket, " http://localhost", path));
}

// Exit code of a process of `uid` that connects and reads: 0 when the server closes it at once, 1
// when bytes come (the settings of HTTP/2), 2 when it cannot connect.
int ConnectAs(uid_t uid, const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(uid) != 0 || setuid(uid) != 0) _exit(3);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    const timeval patience{.tv_sec = 20};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) _exit(2);
    char byte = 0;
    const ssize_t taken = recv(fd, &byte, 1, 0);
    _exit(taken == 1 ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AccessTest, TheUnixSocketHasTheModeAndGroupThatWereChosen) {
  ServerProcess usual;
  EXPECT_EQ(ModeOf(usual.socket_path()), 0660);
  // Only root may give it to a group that it is not in.
  const gid_t group = getuid() == 0 ? getgid() + 1 : getgid();
  ServerProcess open({.flags = {"--socket-mode=0666", absl::StrCat("--socket-group=", group)}});
  ASSERT_TRUE(open.running()) << open.log();
  EXPECT_EQ(ModeOf(open.socket_path()), 0666);
  EXPECT_EQ(GroupOf(open.socket_path()), group);
  // Who may call may hand over memory.
  EXPECT_EQ(ModeOf(open.socket_path() + ".fd"), 0666);
  EXPECT_EQ(GroupOf(open.socket_path() + ".fd"), group);
  ServerProcess wrong({.flags = {"--socket-group=no-such-group"}});
  EXPECT_EQ(wrong.AwaitExit(), 1);
  EXPECT_THAT(wrong.log(),
              HasSubstr("--socket-group is \"no-such-group\"; there is no such group"));
  EXPECT_EQ(ModeOf(wrong.socket_path()), -1) << "the socket was left behind";
}

TEST(AccessTest, OnlyUsersOfTheListMayConnect) {
  if (getuid() != 0) GTEST_SKIP() << "only root can connect as other users";
  TempFolder folder;
  const std::string path = folder.Path("s");
  ASSERT_EQ(system(("chmod 0755 $(dirname " + path + ")").c_str()), 0);
  ServerProcess server({.flags = {"--allow-uids=1234", "--socket-mode=0666"}, .socket_path = path});
  ASSERT_TRUE(server.running()) << server.log();
  EXPECT_EQ(ConnectAs(1234, path), 1);
  EXPECT_EQ(ConnectAs(4321, path), 0);
  EXPECT_THAT(server.log(), HasSubstr("its user is not in allow-uids"));
  EXPECT_TRUE(SendTopK(server, server.unix_target()).ok());
}

TEST(AccessTest, AnAdministratorsSocketTakesTheRightFromTheOthers) {
  TempFolder folder;
  const std::string admin = folder.Path("admin");
  ServerProcess server({.flags = {"--admin-listen=unix:" + admin, "--tcp-admin"}});
  ASSERT_TRUE(server.running()) << server.log();
  EXPECT_EQ(ModeOf(admin), 0600);
  v1::DrainResponse response;
  for (const std::string& target : {server.unix_target(), server.tcp_target()}) {
    const auto stub = v1::AdminService::NewStub(server.Connect(target));
    EXPECT_EQ(stub->Drain(Patient().get(), {}, &response).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  const auto stub = v1::AdminService::NewStub(server.Connect("unix:" + admin));
  EXPECT_TRUE(stub->Drain(Patient().get(), {}, &response).ok());
  EXPECT_EQ(server.AwaitExit(), 0);
  EXPECT_EQ(ModeOf(admin), -1);
}

TEST(AccessTest, ConnectionsAboveTheBoundAreRefusedUntilOneCloses) {
  ServerProcess server({.flags = {"--max-connections=2"}});
  ASSERT_TRUE(server.running()) << server.log();
  v1::TopKResponse response;
  auto first = server.Connect(server.unix_target());
  auto second = server.Connect(server.unix_target());
  EXPECT_TRUE(
      v1::IndexerService::NewStub(first)->TopK(Patient().get(), GoodTopK(), &response).ok());
  EXPECT_TRUE(
      v1::IndexerService::NewStub(second)->TopK(Patient().get(), GoodTopK(), &response).ok());
  EXPECT_EQ(SendTopK(server, server.unix_target()).error_code(), grpc::StatusCode::UNAVAILABLE);
  first.reset();
  // The server learns of the end a moment later.
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  grpc::Status status;
  do {
    status = SendTopK(server, server.unix_target());
  } while (!status.ok() && absl::Now() < deadline);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

class PagesTest : public ::testing::Test {
 protected:
  PagesTest()
      : socket_(folder_.Path("http")), server_({.flags = {"--http-listen=unix:" + socket_}}) {}

  TempFolder folder_;
  const std::string socket_;
  ServerProcess server_;
};

TEST_F(PagesTest, HealthReadinessPageAndDataAreServed) {
  ASSERT_TRUE(server_.running()) << server_.log();
  EXPECT_THAT(Get(socket_, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get(socket_, "/readyz"), HasSubstr("ready"));
  EXPECT_THAT(Get(socket_, "/"), HasSubstr("<!doctype html>"));
  EXPECT_THAT(Get(socket_, "/status.json"), HasSubstr("\"state\":\"serving\""));
  EXPECT_THAT(Get(socket_, "/none"), StartsWith("HTTP/1.1 404"));
}

TEST_F(PagesTest, MetricsCountRequestsStagesAndErrorsByReason) {
  ASSERT_TRUE(SendTopK(server_, server_.unix_target()).ok());
  v1::TopKRequest bad = GoodTopK();
  bad.mutable_step()->set_k(-1);
  v1::TopKResponse response;
  EXPECT_FALSE(server_.Indexer()->TopK(Patient().get(), bad, &response).ok());
  const std::string text = Get(socket_, "/metrics");
  EXPECT_THAT(text, HasSubstr("winnow_requests_total{method=\"winnow.v1.IndexerService/TopK\","
                              "code=\"OK\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("code=\"INVALID_ARGUMENT\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("winnow_errors_total{reason=\"K_OUT_OF_RANGE\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("stage=\"device\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("winnow_launched_requests_total{device=\"0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("winnow_serving 1\n"));
  EXPECT_THAT(Get(socket_, "/status.json"), HasSubstr("K_OUT_OF_RANGE"));
}

TEST_F(PagesTest, EveryLineOfTheMetricsIsACommentOrASample) {
  const std::string answer = Get(socket_, "/metrics");
  const size_t begin = answer.find("\r\n\r\n");
  ASSERT_NE(begin, std::string::npos);
  int samples = 0;
  for (const absl::string_view line : absl::StrSplit(answer.substr(begin + 4), '\n')) {
    if (line.empty() || absl::StartsWith(line, "# HELP winnow_") ||
        absl::StartsWith(line, "# TYPE winnow_")) {
      continue;
    }
    ++samples;
    double value = 0;
    EXPECT_TRUE(absl::StartsWith(line, "winnow_")) << line;
    EXPECT_TRUE(absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value)) << line;
  }
  EXPECT_GT(samples, 50);
}

TEST(ExposedPagesTest, BeyondLoopbackThePageIsNotServed) {
  ServerProcess server({.flags = {"--insecure-http-listen=127.0.0.1:0"}, .tcp = false});
  ASSERT_TRUE(server.running()) << server.log();
  const std::string url = "http://" + server.tcp_target();
  EXPECT_THAT(RunCommand("curl -s -m 20 -i " + url + "/metrics"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(RunCommand("curl -s -m 20 -i " + url + "/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(RunCommand("curl -s -m 20 -i " + url + "/status.json"), StartsWith("HTTP/1.1 404"));
}

}  // namespace
}  // namespace winnow::testing
