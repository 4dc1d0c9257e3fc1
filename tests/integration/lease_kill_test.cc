// Clients are killed at random moments while another works: it is not disturbed, and every byte
// comes back.

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/lease_session.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_programs.h"
#include "tests/testing/random.h"
#include "tests/testing/requests.h"

extern char** environ;

namespace winnow::testing {
namespace {

constexpr int kCycles = 300;
constexpr int kClientsAtOnce = 4;

pid_t StartClient(const std::string& target) {
  const std::string program = ProgramPath(WINNOW_LEASE_CLIENT);
  char* const arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(target.c_str()),
                             nullptr};
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  return pid;
}

// A lease that works all the while, for a call at least: calls that failed or gave another result
// than at first.
int64_t Work(ServerProcess& server, const std::atomic<bool>& stop) {
  LeaseSession session(server.Connect(server.unix_target()), {});
  v1::ResourceId buffer;
  if (!session.Allocate(4096, buffer).ok()) return -1;
  if (!session.Write(buffer, 0, BytesOf<float>({1, 4, 3, 2})).ok()) return -1;
  v1::TopKRequest request;
  request.set_lease_id(session.id());
  *request.mutable_step()->mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, 1, 4, buffer);
  *request.mutable_step()->mutable_lengths() = Int32Vector({4});
  request.mutable_step()->set_k(2);
  request.mutable_step()->set_deterministic(true);
  request.mutable_step()->mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
  int64_t bad = 0;
  do {
    v1::TopKResponse response;
    const bool ok = session.indexer().TopK(Patient().get(), request, &response).ok();
    bad += !ok || ElementsOf<int32_t>(response.result().outputs(0).tensor()) !=
                      std::vector<int32_t>({1, 2});
  } while (!stop);
  return bad;
}

// MiB of the first GPU in use as its driver counts them; nullopt on another backend or without the
// driver's tool.
std::optional<int64_t> DeviceMemoryInUse() {
  const char* const backend = std::getenv("WINNOW_TEST_BACKEND");
  if (backend == nullptr || std::string(backend) != "cuda") return std::nullopt;
  FILE* const answer =
      popen("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null", "r");
  if (answer == nullptr) return std::nullopt;
  long long used = 0;
  const bool answered = std::fscanf(answer, "%lld", &used) == 1;
  pclose(answer);
  return answered ? std::optional<int64_t>(used) : std::nullopt;
}

// A client that comes, works and goes, so that what the driver keeps from the first use is there.
void WarmUp(ServerProcess& server) {
  const std::atomic<bool> stop{true};
  EXPECT_EQ(Work(server, stop), 0);
  LeasesOnceAtMost(0, server);
}

// Kills kCycles clients; how many had died by themselves.
int KillClients(ServerProcess& server, Random& random) {
  int died_by_themselves = 0;
  for (int cycle = 0; cycle < kCycles; cycle += kClientsAtOnce) {
    std::vector<pid_t> clients;
    for (int i = 0; i < kClientsAtOnce; ++i) clients.push_back(StartClient(server.unix_target()));
    for (const pid_t client : clients) {
      // From before the lease is open to the middle of its work.
      usleep(static_cast<useconds_t>(random.Below(40'000)));
      kill(client, SIGKILL);
      int status = 0;
      EXPECT_EQ(waitpid(client, &status, 0), client);
      died_by_themselves += !WIFSIGNALED(status);
    }
  }
  return died_by_themselves;
}

TEST(LeaseKillTest, KilledClientsLeaveNothingBehindAndDisturbNobody) {
  ServerProcess server({.flags = {"--buffer-pool-bytes=64M"}});
  ASSERT_TRUE(server.running()) << server.log();
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  WarmUp(server);
  const std::optional<int64_t> used_before = DeviceMemoryInUse();
  std::atomic<bool> stop{false};
  std::atomic<int64_t> bad{0};
  std::thread worker([&] { bad = Work(server, stop); });
  EXPECT_EQ(KillClients(server, random), 0) << "died by themselves";
  const v1::ListLeasesResponse leases = LeasesOnceAtMost(1, server);
  stop = true;
  worker.join();
  EXPECT_EQ(bad, 0);
  ASSERT_EQ(leases.leases_size(), 1) << "the worker's";
  EXPECT_EQ(leases.leases(0).used_bytes(), 4096);
  EXPECT_EQ(LeasesOnceAtMost(0, server).leases_size(), 0);
  // The server lives: what it or its driver kept of the dead would be there.
  if (used_before.has_value()) {
    const std::optional<int64_t> used_after = DeviceMemoryInUse();
    EXPECT_EQ(used_after, used_before);
    std::printf("%lld MiB of the device in use before the kills, %lld after\n",
                static_cast<long long>(*used_before),
                static_cast<long long>(used_after.value_or(-1)));
  }
  // All of the pool can be had again.
  LeaseSession session(server.Connect(server.unix_target()), {});
  v1::ResourceId buffer;
  EXPECT_TRUE(session.Allocate(64 << 20, buffer).ok());
  // Leases are numbered from 1; the first two were of the warm-up and the worker, the last is this
  // one.
  const int64_t opened = LeasesOnceAtMost(1, server).leases(0).lease_number() - 3;
  std::printf("%lld of %d clients were killed with a lease\n", static_cast<long long>(opened),
              kCycles);
  EXPECT_GE(opened, 1) << "else the kills show nothing";
  EXPECT_TRUE(server.running()) << server.log();
}

}  // namespace
}  // namespace winnow::testing
