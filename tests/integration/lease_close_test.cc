// CloseLease over real sockets: leases with a long grace that end at once, with work in every
// state, against everything else that ends them at the same time.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/flood.h"
#include "tests/integration/grpc_status_matchers.h"
#include "tests/integration/lease_session.h"
#include "tests/integration/server_process.h"
#include "tests/integration/slow_work.h"
#include "tests/integration/test_programs.h"
#include "tests/testing/random.h"

extern char** environ;

namespace winnow::testing {
namespace {

// Twice or more of what a slow request has, which is larger on a GPU.
int64_t PoolBytes() { return int64_t{TestBackend() == "cpu" ? 16 : 1024} << 20; }

v1::OpenLeaseRequest WithGrace() {
  v1::OpenLeaseRequest request;
  request.mutable_resume_grace_duration()->set_seconds(60);
  return request;
}

// One slow request runs at a time, the others wait.
std::vector<std::string> Flags(int64_t pool_bytes) {
  return {absl::StrCat("--buffer-pool-bytes=", pool_bytes), "--max-resume-grace=60s", "--threads=1",
          "--launch-slots=1", "--max-batch-requests=1"};
}

std::unique_ptr<LeaseSession> OpenLease(const ServerProcess& server) {
  auto session = std::make_unique<LeaseSession>(server.Connect(server.unix_target()), WithGrace());
  EXPECT_TRUE(session->opened());
  return session;
}

void ExpectAllMemoryIsThere(const ServerProcess& server, int64_t pool_bytes) {
  const auto session = OpenLease(server);
  v1::ResourceId buffer;
  const grpc::Status status = session->Allocate(pool_bytes, buffer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(CloseLease(server, session->id()).ok());
}

class LeaseCloseTest : public ::testing::Test {
 protected:
  LeaseCloseTest() : server_({.flags = Flags(PoolBytes())}) {}
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }

  std::unique_ptr<LeaseSession> Open() { return OpenLease(server_); }
  void ExpectAllMemoryIsThere() { testing::ExpectAllMemoryIsThere(server_, PoolBytes()); }

  ServerProcess server_;
};

TEST_F(LeaseCloseTest, MemoryIsBackAtOnceAlthoughTheGraceIsAMinute) {
  for (int turn = 0; turn < 50; ++turn) {
    const auto session = Open();
    v1::ResourceId buffer;
    const grpc::Status status = session->Allocate(PoolBytes(), buffer);
    ASSERT_TRUE(status.ok()) << turn << ": " << status.error_message();
    ASSERT_TRUE(CloseLease(server_, session->id()).ok());
  }
  EXPECT_EQ(LeasesOnceAtMost(0, server_).leases_size(), 0);
}

TEST_F(LeaseCloseTest, ALeaseWhoseStreamIsLostCanBeClosed) {
  const auto session = Open();
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(PoolBytes(), buffer).ok());
  session->Close();
  EXPECT_TRUE(CloseLease(server_, session->id()).ok());
  ExpectAllMemoryIsThere();
}

TEST_F(LeaseCloseTest, TheStreamIsToldAndEndsWell) {
  const auto session = Open();
  ASSERT_TRUE(CloseLease(server_, session->id()).ok());
  v1::OpenLeaseResponse event;
  ASSERT_TRUE(session->NextEvent(event));
  EXPECT_EQ(event.ended().cause(), v1::LEASE_END_CAUSE_CLOSED);
  EXPECT_FALSE(event.ended().message().empty());
  EXPECT_TRUE(session->AwaitEnd().ok());
}

TEST_F(LeaseCloseTest, ASecondCloseSaysThatTheLeaseHasEnded) {
  const auto session = Open();
  ASSERT_TRUE(CloseLease(server_, session->id()).ok());
  const grpc::Status again = CloseLease(server_, session->id());
  EXPECT_EQ(again.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(again, Fails(v1::ERROR_REASON_LEASE_ENDED));
  v1::ResourceId buffer;
  EXPECT_THAT(session->Allocate(64, buffer), Fails(v1::ERROR_REASON_LEASE_ENDED));
  v1::OpenLeaseRequest resume = WithGrace();
  resume.set_resume_lease_id(session->id());
  LeaseSession resumed(server_.Connect(server_.unix_target()), resume);
  EXPECT_FALSE(resumed.opened());
  EXPECT_THAT(resumed.AwaitEnd(), Fails(v1::ERROR_REASON_LEASE_ENDED));
}

TEST_F(LeaseCloseTest, AGuessedIdClosesNothing) {
  const auto session = Open();
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(64, buffer).ok());
  std::string near = session->id();
  near.back() = near.back() == '0' ? '1' : '0';
  for (const std::string& guess : {near, std::string(32, '5'), std::string()}) {
    const grpc::Status status = CloseLease(server_, guess);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(status, Fails(v1::ERROR_REASON_LEASE_NOT_FOUND));
  }
  std::string bytes;
  EXPECT_TRUE(session->Read(buffer, bytes).ok());
}

TEST_F(LeaseCloseTest, QueuedWorkIsDroppedAndRunningWorkCompletes) {
  constexpr int kCalls = 12;
  // Some of them keep the server busy for as long as this test may have to wait for a core.
  const int32_t times = TimesForBusyMachine(8);
  ServerProcess server({.flags = Flags(times * PoolBytes())});
  SlowWork work(server.Connect(server.unix_target()), WithGrace(), times);
  LeaseSession& session = work.session();
  Flood calls(session.indexer(), work);
  for (int call = 0; call < kCalls; ++call) calls.Send();
  // Until all have arrived; on a machine that is slow to send them the first may be done by then.
  const auto admin = server.Admin();
  v1::GetStatsResponse stats;
  const auto arrived = [&] {
    return stats.launched_request_count() + stats.queued_request_count();
  };
  for (int turn = 0; turn < 20'000 && arrived() < kCalls; ++turn) {
    usleep(200);
    ASSERT_TRUE(admin->GetStats(Patient().get(), {}, &stats).ok());
  }
  ASSERT_EQ(arrived(), kCalls);
  ASSERT_GE(stats.queued_request_count(), 1);
  ASSERT_TRUE(CloseLease(server, session.id()).ok());
  const auto codes = calls.Finish();
  const int64_t completed = CountOf(codes, grpc::StatusCode::OK);
  const int64_t dropped = CountOf(codes, grpc::StatusCode::CANCELLED);
  EXPECT_GE(completed, 1);
  EXPECT_GE(dropped, 1);
  EXPECT_EQ(completed + dropped, kCalls);
  for (const grpc::Status& status : calls.FindStatuses(grpc::StatusCode::CANCELLED)) {
    EXPECT_THAT(status, Fails(v1::ERROR_REASON_REQUEST_CANCELLED));
  }
  EXPECT_EQ(LeasesOnceAtMost(0, server).leases_size(), 0);
  testing::ExpectAllMemoryIsThere(server, times * PoolBytes());
}

// A client that works under a lease with a grace, in a process of its own.
class WorkingClient {
 public:
  explicit WorkingClient(const ServerProcess& server) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string program = ProgramPath(WINNOW_LEASE_CLIENT), target = server.unix_target();
    char grace[] = "60";
    char* const arguments[] = {program.data(), target.data(), grace, nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    lease_id_.resize(32);
    size_t done = 0;
    ssize_t got = 1;
    for (; got > 0 && done < lease_id_.size(); done += got) {
      got = std::max<ssize_t>(read(ends[0], &lease_id_[done], lease_id_.size() - done), 0);
    }
    lease_id_.resize(done);
    close(ends[0]);
  }
  ~WorkingClient() {
    Kill();
    waitpid(pid_, nullptr, 0);
  }
  WorkingClient(const WorkingClient&) = delete;
  WorkingClient& operator=(const WorkingClient&) = delete;

  const std::string& lease_id() const { return lease_id_; }
  void Kill() const { kill(pid_, SIGKILL); }

 private:
  pid_t pid_ = -1;
  std::string lease_id_;
};

TEST_F(LeaseCloseTest, AKillAtTheSameTimeChangesNothing) {
  constexpr int kCycles = 40;
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    const WorkingClient client(server_);
    ASSERT_EQ(client.lease_id().size(), 32u) << server_.log();
    const auto kill_after = static_cast<useconds_t>(random.Below(3000));
    std::thread killer([&] {
      usleep(kill_after);
      client.Kill();
    });
    usleep(static_cast<useconds_t>(random.Below(3000)));
    // With the grace the kill alone does not end it.
    const grpc::Status status = CloseLease(server_, client.lease_id());
    killer.join();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(LeasesOnceAtMost(0, server_).leases_size(), 0);
  ExpectAllMemoryIsThere();
}

TEST_F(LeaseCloseTest, OfManyClosesAndAnEndOneWins) {
  constexpr int kRounds = 50, kClosers = 4;
  for (int round = 0; round < kRounds; ++round) {
    const auto session = Open();
    v1::ResourceId buffer;
    ASSERT_TRUE(session->Allocate(PoolBytes(), buffer).ok());
    v1::EndLeaseRequest end;
    end.set_lease_number(LeasesOnceAtMost(1, server_).leases(0).lease_number());
    std::vector<std::future<grpc::Status>> ends;
    for (int closer = 0; closer < kClosers; ++closer) {
      ends.push_back(
          std::async(std::launch::async, [&] { return CloseLease(server_, session->id()); }));
    }
    v1::EndLeaseResponse response;
    int winners = server_.Admin()->EndLease(Patient().get(), end, &response).ok() ? 1 : 0;
    for (auto& close : ends) {
      const grpc::Status status = close.get();
      winners += status.ok() ? 1 : 0;
      if (!status.ok()) {
        EXPECT_THAT(status, Fails(v1::ERROR_REASON_LEASE_ENDED));
      }
    }
    EXPECT_EQ(winners, 1);
    EXPECT_TRUE(session->AwaitEnd().ok());
    ASSERT_EQ(LeasesOnceAtMost(0, server_).leases_size(), 0);
  }
  ExpectAllMemoryIsThere();
}

}  // namespace
}  // namespace winnow::testing
