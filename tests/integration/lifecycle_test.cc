// A server's life as its operator and its peers see it: start, listeners, health, reflection,
// drain, end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "absl/time/clock.h"
#include "server/rpc/status_mapping.h"
#include "tests/integration/generic_call.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_programs.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kHealthCheck[] = "grpc.health.v1.Health/Check";
constexpr char kHealthWatch[] = "grpc.health.v1.Health/Watch";
// HealthCheckResponse{status}, HealthCheckRequest{service}.
const std::string kServing("\x08\x01", 2);
const std::string kNotServing("\x08\x02", 2);
std::string ForService(const std::string& name) {
  return std::string("\x0a") + static_cast<char>(name.size()) + name;
}

grpc::Status SendTopK(ServerProcess& server) {
  v1::TopKResponse response;
  return server.Indexer()->TopK(Patient().get(), GoodTopK(), &response);
}

TEST(LifecycleTest, TheReadyLineSaysVersionBackendListenersAndLimits) {
  ServerProcess server;
  ASSERT_TRUE(server.running());
  EXPECT_THAT(server.log(), HasSubstr("version="));
  EXPECT_THAT(server.log(), HasSubstr("backend=" + TestBackend()));
  EXPECT_THAT(server.log(), HasSubstr("why="));
  EXPECT_THAT(server.log(), HasSubstr(server.unix_target() + "," + server.tcp_target()));
  EXPECT_THAT(server.log(), HasSubstr("max_inline_bytes=67108864"));
}

TEST(LifecycleTest, InfoMatchesTheProcess) {
  ServerProcess server({.flags = {"--max-queued-requests=77"}});
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server.Admin()->GetServerInfo(Patient().get(), {}, &info).ok());
  EXPECT_EQ(info.process_id(), server.pid());
  EXPECT_EQ(info.state(), v1::SERVER_STATE_SERVING);
  EXPECT_EQ(info.device().kind(), TestBackend());
  EXPECT_EQ(info.limits().max_queued_request_count(), 77);
  EXPECT_EQ(info.listeners_size(), 2);
}

TEST(LifecycleTest, ItStartsFastAndIsSmall) {
  // The best of a few: a machine that builds beside the test is no fault of the server's.
  absl::Duration fastest = absl::InfiniteDuration();
  int64_t resident_kib = 0;
  for (int i = 0; i < 5; ++i) {
    ServerProcess server;
    ASSERT_TRUE(server.running());
    fastest = std::min(fastest, server.start_duration());
    resident_kib = server.resident_kib();
  }
  std::printf("ready after %s, %lld KiB resident\n", absl::FormatDuration(fastest).c_str(),
              static_cast<long long>(resident_kib));
  // A GPU's driver alone takes longer and more.
  if (TestBackend() != "cpu") GTEST_SKIP() << "the limits are those of the CPU backend";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(fastest, absl::Milliseconds(200));
  EXPECT_LT(resident_kib, 40 * 1024);
#endif
}

// What the server uses while nobody calls. The time passes in another process, so that only waiting
// for it tells.
absl::Duration UsedWhileIdle(const ServerProcess& server) {
  const absl::Duration before = server.processor_time();
  absl::SleepFor(absl::Seconds(2));
  return server.processor_time() - before;
}

TEST(LifecycleTest, AnIdleServerLeavesTheProcessorAloneBeforeAndAfterABurst) {
  ServerProcess server;
  ASSERT_TRUE(server.running()) << server.log();
  const absl::Duration fresh = UsedWhileIdle(server);
  const auto indexer = server.Indexer();
  for (int i = 0; i < 500; ++i) {
    v1::TopKResponse response;
    ASSERT_TRUE(indexer->TopK(Patient().get(), GoodTopK(), &response).ok());
  }
  const absl::Duration after_burst = UsedWhileIdle(server);
  std::printf("of 2 s without calls it used %s, and %s after 500 calls\n",
              absl::FormatDuration(fresh).c_str(), absl::FormatDuration(after_burst).c_str());
  // A queue that is looked at without end would use all of them.
  EXPECT_LT(fresh, absl::Milliseconds(100));
  EXPECT_LT(after_burst, absl::Milliseconds(100));
}

TEST(LifecycleTest, TheSocketIsForTheUserAndItsGroup) {
  ServerProcess server;
  struct stat status;
  ASSERT_EQ(stat(server.socket_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660u);
}

TEST(LifecycleTest, SigtermAndSigintEndItWithSuccessAndRemoveTheSocket) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ServerProcess server;
    ASSERT_TRUE(SendTopK(server).ok());
    server.Signal(signal);
    EXPECT_EQ(server.AwaitExit(), 0);
    struct stat status;
    EXPECT_NE(stat(server.socket_path().c_str(), &status), 0);
    EXPECT_THAT(server.log(), HasSubstr("event=stopped"));
  }
}

TEST(LifecycleTest, ADrainCallEndsIt) {
  ServerProcess server;
  v1::DrainResponse response;
  ASSERT_TRUE(server.Admin()->Drain(Patient().get(), {}, &response).ok());
  EXPECT_EQ(response.pending_request_count(), 0);
  EXPECT_EQ(server.AwaitExit(), 0);
}

TEST(LifecycleTest, ADrainCallOverTcpIsRefused) {
  ServerProcess server;
  const auto admin = v1::AdminService::NewStub(server.Connect(server.tcp_target()));
  v1::DrainResponse response;
  EXPECT_EQ(admin->Drain(Patient().get(), {}, &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(SendTopK(server).ok());
}

TEST(LifecycleTest, ASecondServerOnThePathIsRefusedAndTheFirstIsUnharmed) {
  ServerProcess first;
  ServerProcess second({.socket_path = first.socket_path(), .tcp = false});
  EXPECT_EQ(second.AwaitExit(), 1);
  EXPECT_THAT(second.log(), HasSubstr("another winnow-server holds it"));
  EXPECT_TRUE(SendTopK(first).ok());
}

TEST(LifecycleTest, ASecondServerOnThePortIsRefused) {
  ServerProcess first;
  ServerProcess second({.flags = {"--listen=" + first.tcp_target()}, .tcp = false});
  EXPECT_EQ(second.AwaitExit(), 1);
  EXPECT_THAT(second.log(), HasSubstr("--listen=" + first.tcp_target() +
                                      ": cannot listen: the port is in use; stop the program"));
  EXPECT_TRUE(SendTopK(first).ok());
}

TEST(LifecycleTest, TheSocketOfAKilledServerIsTakenOver) {
  ServerProcess first;
  first.Signal(SIGKILL);
  EXPECT_EQ(first.AwaitExit(), 128 + SIGKILL);
  struct stat status;
  ASSERT_EQ(stat(first.socket_path().c_str(), &status), 0);
  ServerProcess second({.socket_path = first.socket_path()});
  ASSERT_TRUE(second.running()) << second.log();
  EXPECT_TRUE(SendTopK(second).ok());
}

TEST(LifecycleTest, BadFlagsEndItWithStatusTwoAndOneLine) {
  for (const char* flag : {"--bakend=cpu", "--listen=0.0.0.0:1", "--threads=-1", "--queues=x"}) {
    ServerProcess server({.flags = {flag}});
    EXPECT_EQ(server.AwaitExit(), 2) << flag;
    const std::string log = server.log();
    EXPECT_THAT(log, ::testing::StartsWith("winnow-server: ")) << flag;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  }
}

TEST(LifecycleTest, HealthKnowsEachServiceAndNoOther) {
  ServerProcess server;
  const auto channel = server.Connect(server.unix_target());
  for (const char* service : {"", "winnow.v1.IndexerService", "winnow.v1.AdminService"}) {
    std::string reply;
    ASSERT_TRUE(CallWithBytes(channel, kHealthCheck, ForService(service), &reply).ok()) << service;
    EXPECT_EQ(reply, kServing) << service;
  }
  EXPECT_EQ(CallWithBytes(channel, kHealthCheck, ForService("none")).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(LifecycleTest, HealthWatchersLearnOfADrainAndDoNotHoldItUp) {
  ServerProcess server;
  ByteStream watch(server.Connect(server.unix_target()), kHealthWatch,
                   ForService("winnow.v1.IndexerService"));
  EXPECT_EQ(watch.Read(), kServing);
  const absl::Time begin = absl::Now();
  server.Signal(SIGTERM);
  EXPECT_EQ(watch.Read(), kNotServing);
  EXPECT_EQ(watch.Read(), std::nullopt);
  EXPECT_EQ(server.AwaitExit(), 0);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST(LifecycleTest, ReflectionListsTheServices) {
  ServerProcess server;
  // ServerReflectionRequest{list_services: "*"}; the names stand in the reply as they are.
  ByteStream stream(server.Connect(server.unix_target()),
                    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*");
  const std::optional<std::string> reply = stream.Read();
  ASSERT_TRUE(reply.has_value());
  EXPECT_THAT(*reply, HasSubstr("winnow.v1.IndexerService"));
  EXPECT_THAT(*reply, HasSubstr("winnow.v1.AdminService"));
  EXPECT_THAT(*reply, HasSubstr("grpc.health.v1.Health"));
}

}  // namespace
}  // namespace winnow::testing
