// More work than the server can do at once: full queue, deadlines, cancellation, drain under load,
// clients that die.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "absl/time/clock.h"
#include "server/rpc/status_mapping.h"
#include "tests/integration/flood.h"
#include "tests/integration/server_process.h"
#include "tests/integration/slow_work.h"
#include "tests/integration/test_programs.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

const std::vector<std::string> kSlow = {"--threads=1", "--launch-slots=1",
                                        "--max-batch-requests=1"};

std::vector<std::string> SlowWith(std::vector<std::string> more) {
  more.insert(more.end(), kSlow.begin(), kSlow.end());
  return more;
}

v1::GetStatsResponse StatsOf(ServerProcess& server) {
  v1::GetStatsResponse stats;
  EXPECT_TRUE(server.Admin()->GetStats(Patient().get(), {}, &stats).ok());
  return stats;
}

// Waits for a change that the server makes by itself soon.
template <typename Condition>
bool Eventually(Condition condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (absl::Now() < deadline) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return false;
}

// Requests of which ten keep the server busy for as long as a test may have to wait for a core.
class LongerWork : public SlowWork {
 public:
  explicit LongerWork(const ServerProcess& server, int32_t times = 4)
      : SlowWork(server.Connect(server.unix_target()), {}, TimesForBusyMachine(times)) {}
};

void ExpectIdleAndServing(ServerProcess& server) {
  EXPECT_TRUE(Eventually([&] {
    const v1::GetStatsResponse stats = StatsOf(server);
    return stats.queued_request_count() == 0 && stats.running_request_count() == 0 &&
           stats.queued_bytes() == 0;
  }));
  v1::TopKResponse response;
  EXPECT_TRUE(server.Indexer()->TopK(Patient().get(), GoodTopK(), &response).ok());
}

TEST(OverloadTest, AFullQueueAnswersAtOnceAndServesTheRest) {
  ServerProcess server({.flags = SlowWith({"--max-queued-requests=4"})});
  const auto indexer = server.Indexer();
  const SlowWork work(server.Connect(server.unix_target()));
  Flood flood(*indexer, work);
  for (int i = 0; i < 60; ++i) flood.Send();
  const auto codes = flood.Finish();
  EXPECT_GE(CountOf(codes, grpc::StatusCode::OK), 4);
  ASSERT_GE(CountOf(codes, grpc::StatusCode::RESOURCE_EXHAUSTED), 1);
  EXPECT_EQ(codes.size(), 2u);
  const auto refused = flood.FindStatuses(grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto detail = server::GetErrorDetail(refused.front());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason(), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_GT(detail->retry_after_millis(), 0);
  EXPECT_EQ(StatsOf(server).rejected_request_count(),
            CountOf(codes, grpc::StatusCode::RESOURCE_EXHAUSTED));
  ExpectIdleAndServing(server);
}

TEST(OverloadTest, TheBytesOfWaitingRequestsAreBounded) {
  ServerProcess server({.flags = SlowWith({"--max-inline-bytes=10M", "--max-queued-bytes=10M"})});
  const auto indexer = server.Indexer();
  const SlowWork work(server.Connect(server.unix_target()));
  Flood flood(*indexer, work);
  for (int i = 0; i < 150; ++i) flood.Send();
  const auto codes = flood.Finish();
  EXPECT_GE(CountOf(codes, grpc::StatusCode::RESOURCE_EXHAUSTED), 1);
  EXPECT_GE(CountOf(codes, grpc::StatusCode::OK), 2);
  ExpectIdleAndServing(server);
}

TEST(OverloadTest, ARequestPastItsDeadlineIsNeverLaunched) {
  // The long one reads 256 MiB, on a GPU 8 GiB.
  const bool cpu = TestBackend() == "cpu";
  ServerProcess server({.flags = SlowWith(cpu ? std::vector<std::string>{}
                                              : std::vector<std::string>{"--buffer-pool-bytes=12G",
                                                                         "--max-lease-bytes=9G"})});
  const auto indexer = server.Indexer();
  const SlowWork work(server.Connect(server.unix_target()));
  // Runs for longer than the others take to be sent and the hurried ones may wait, half a second: a
  // launch that begins before their deadline would rightly be theirs, since the earliest deadline
  // goes first.
  const SlowWork long_work(server.Connect(server.unix_target()), {}, /*times=*/cpu ? 64 : 16);
  Flood first(*indexer, long_work);
  first.Send();
  ASSERT_TRUE(Eventually([&] { return StatsOf(server).running_request_count() == 1; }));
  Flood patient(*indexer, work);
  for (int i = 0; i < 60; ++i) patient.Send();
  Flood hurried(*indexer, work);
  for (int i = 0; i < 20; ++i) hurried.Send(std::chrono::milliseconds(5));
  const auto hurried_codes = hurried.Finish();
  EXPECT_EQ(hurried_codes.count(grpc::StatusCode::OK), 0u);
  EXPECT_GE(CountOf(hurried_codes, grpc::StatusCode::DEADLINE_EXCEEDED), 1);
  EXPECT_EQ(CountOf(first.Finish(), grpc::StatusCode::OK), 1);
  EXPECT_EQ(CountOf(patient.Finish(), grpc::StatusCode::OK), 60);
  // Those that arrived were expired or cancelled in the queue: none was launched.
  EXPECT_EQ(StatsOf(server).launched_request_count(), 61);
  ExpectIdleAndServing(server);
}

TEST(OverloadTest, CancelledRequestsAreNotLaunched) {
  ServerProcess server({.flags = SlowWith({})});
  const auto indexer = server.Indexer();
  const LongerWork work(server, 8);
  Flood flood(*indexer, work);
  constexpr int kSent = 120;
  for (int i = 0; i < kSent; ++i) flood.Send();
  // Twice as many as must be cancelled: twenty may be done before the word arrives.
  ASSERT_TRUE(Eventually([&] { return StatsOf(server).queued_request_count() > 40; }));
  flood.CancelAll();
  const auto codes = flood.Finish();
  EXPECT_GE(CountOf(codes, grpc::StatusCode::CANCELLED), 20);
  ExpectIdleAndServing(server);
  const v1::GetStatsResponse stats = StatsOf(server);
  EXPECT_GE(stats.cancelled_request_count(), 15);
  EXPECT_LE(stats.launched_request_count(), kSent - stats.cancelled_request_count() + 1);
}

pid_t StartFloodClient(const ServerProcess& server) {
  const std::string program = ProgramPath(WINNOW_FLOOD_CLIENT);
  const pid_t client = fork();
  if (client == 0) {
    execl(program.c_str(), program.c_str(), server.unix_target().c_str(), nullptr);
    _exit(127);
  }
  return client;
}

TEST(OverloadTest, TheRequestsOfAKilledClientAreDropped) {
  ServerProcess server({.flags = SlowWith({})});
  const pid_t client = StartFloodClient(server);
  EXPECT_TRUE(Eventually([&] { return StatsOf(server).queued_request_count() > 30; }));
  kill(client, SIGKILL);
  waitpid(client, nullptr, 0);
  ExpectIdleAndServing(server);
  EXPECT_GE(StatsOf(server).cancelled_request_count(), 5);
}

TEST(OverloadTest, ADrainFinishesWhatIsQueuedAndRefusesWhatIsNew) {
  ServerProcess server({.flags = SlowWith({})});
  const auto indexer = server.Indexer();
  const SlowWork work(server.Connect(server.unix_target()));
  Flood before(*indexer, work);
  for (int i = 0; i < 40; ++i) before.Send();
  ASSERT_TRUE(Eventually([&] { return StatsOf(server).queued_request_count() > 10; }));
  const v1::GetStatsResponse stats = StatsOf(server);
  const int64_t arrived =
      stats.queued_request_count() + stats.running_request_count() + stats.launched_request_count();
  server.Signal(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return server.log().find("event=draining") != std::string::npos; }));
  v1::TopKResponse response;
  const grpc::Status late = indexer->TopK(Patient().get(), GoodTopK(), &response);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto codes = before.Finish();
  EXPECT_GE(CountOf(codes, grpc::StatusCode::OK), std::min<int64_t>(arrived, 10));
  for (const auto& [code, count] : codes) {
    EXPECT_TRUE(code == grpc::StatusCode::OK || code == grpc::StatusCode::UNAVAILABLE) << code;
  }
  EXPECT_EQ(server.AwaitExit(), 0) << server.log();
}

TEST(OverloadTest, ADrainTimeoutCancelsWhatIsLeft) {
  ServerProcess server({.flags = SlowWith({"--drain-timeout=1ms"})});
  const auto indexer = server.Indexer();
  const LongerWork work(server);
  Flood flood(*indexer, work);
  for (int i = 0; i < 40; ++i) flood.Send();
  ASSERT_TRUE(Eventually([&] { return StatsOf(server).queued_request_count() > 10; }));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.AwaitExit(absl::Seconds(20)), 0) << server.log();
  const auto codes = flood.Finish();
  EXPECT_GE(CountOf(codes, grpc::StatusCode::UNAVAILABLE), 1);
}

// Its replies fill its socket, and a write that never ends would keep the transport open.
TEST(OverloadTest, AClientThatStopsReadingDoesNotHoldUpTheEnd) {
  ServerProcess server({.flags = SlowWith({"--drain-timeout=1ms"})});
  const pid_t client = StartFloodClient(server);
  EXPECT_TRUE(Eventually([&] { return StatsOf(server).queued_request_count() > 20; }));
  kill(client, SIGSTOP);
  const int64_t before = StatsOf(server).launched_request_count();
  EXPECT_TRUE(Eventually([&] { return StatsOf(server).launched_request_count() >= before + 8; }));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.AwaitExit(absl::Seconds(10)), 0) << server.log();
  EXPECT_NE(server.log().find("connections cut"), std::string::npos) << server.log();
  kill(client, SIGKILL);
  waitpid(client, nullptr, 0);
}

TEST(OverloadTest, ASecondSignalEndsItAtOnce) {
  ServerProcess server({.flags = SlowWith({"--drain-timeout=60s"})});
  const auto indexer = server.Indexer();
  const LongerWork work(server);
  Flood flood(*indexer, work);
  for (int i = 0; i < 120; ++i) flood.Send();
  ASSERT_TRUE(Eventually([&] { return StatsOf(server).queued_request_count() > 30; }));
  server.Signal(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return server.log().find("event=draining") != std::string::npos; }));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.AwaitExit(absl::Seconds(5)), 128 + SIGTERM) << server.log();
}

}  // namespace
}  // namespace winnow::testing
