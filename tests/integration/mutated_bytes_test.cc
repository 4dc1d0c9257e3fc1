// Requests with some of their bytes changed, sent to a real server process: each is answered or
// refused with an error that says why, and the server goes on serving.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/rpc/status_mapping.h"
#include "tests/integration/generic_call.h"
#include "tests/integration/server_process.h"
#include "tests/testing/random.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

constexpr int kRounds = 400;

struct Seed {
  std::string method;
  std::string bytes;
};

std::vector<Seed> Seeds() {
  return {{"TopK", GoodPagedTopK().SerializeAsString()},
          {"BlockAmax", GoodBlockAmax().SerializeAsString()},
          {"SortCandidateBlocks", GoodSortBlocks().SerializeAsString()},
          {"PublishCandidates", GoodPublish().SerializeAsString()},
          {"ConsumeCandidates", GoodConsume().SerializeAsString()},
          {"PlanTopK", GoodPlan().SerializeAsString()},
          {"Execute", GoodExecute().SerializeAsString()}};
}

// One to four changes: a bit, a byte, a part cut out or doubled, the end cut off.
std::string Mutate(std::string bytes, Random& random) {
  for (int64_t change = random.Between(1, 4); change > 0 && !bytes.empty(); --change) {
    const auto at = static_cast<size_t>(random.Below(static_cast<int64_t>(bytes.size())));
    const auto length = static_cast<size_t>(random.Between(1, 8));
    switch (random.Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random.Below(256));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

bool IsRefusal(grpc::StatusCode code) {
  return code == grpc::StatusCode::INVALID_ARGUMENT ||
         code == grpc::StatusCode::RESOURCE_EXHAUSTED || code == grpc::StatusCode::NOT_FOUND ||
         code == grpc::StatusCode::FAILED_PRECONDITION || code == grpc::StatusCode::UNIMPLEMENTED;
}

TEST(MutatedBytesTest, EveryRequestIsAnsweredOrRefusedWithAReasonAndTheServerGoesOn) {
  Random random(SeedFromEnvironment("WINNOW_MUTATION_SEED"));
  ServerProcess server;
  ASSERT_TRUE(server.running()) << server.log();
  const auto channel = server.Connect(server.unix_target());
  int answered = 0, refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const Seed& seed : Seeds()) {
      const std::string bytes = Mutate(seed.bytes, random);
      const std::string method = absl::StrCat("winnow.v1.IndexerService/", seed.method);
      const grpc::Status status = CallWithBytes(channel, method, bytes);
      ++(status.ok() ? answered : refused);
      if (status.ok()) continue;
      SCOPED_TRACE(absl::StrCat(seed.method, " ", absl::BytesToHexString(bytes)));
      ASSERT_TRUE(IsRefusal(status.error_code()))
          << status.error_code() << ": " << status.error_message() << "\n"
          << server.log() << "exit " << server.AwaitExit(absl::Seconds(2));
      ASSERT_TRUE(server::GetErrorDetail(status).has_value()) << status.error_message();
    }
  }
  std::printf("%d answered, %d refused\n", answered, refused);
  EXPECT_GT(answered, kRounds / 4);
  EXPECT_GT(refused, kRounds);
  for (const Seed& seed : Seeds()) {
    const grpc::Status status =
        CallWithBytes(channel, absl::StrCat("winnow.v1.IndexerService/", seed.method), seed.bytes);
    EXPECT_TRUE(status.ok()) << seed.method << ": " << status.error_message();
  }
  server.Signal(SIGTERM);
  EXPECT_EQ(server.AwaitExit(), 0) << server.log();
}

}  // namespace
}  // namespace winnow::testing
