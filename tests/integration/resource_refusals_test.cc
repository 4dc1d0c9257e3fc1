// Every wrong request on resources and steps is refused with its exact code, reason, field, value
// and limit, changes nothing, and leaves a server that serves the next one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "tests/integration/refusals.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

std::vector<Refusal> AllRefusals() {
  std::vector<Refusal> all;
  for (auto* list : {IdRefusals, MemoryRefusals, PageTableRefusals, OperationRefusals, StepRefusals,
                     StreamRefusals, LeaseRefusals}) {
    for (Refusal& refusal : list()) all.push_back(std::move(refusal));
  }
  return all;
}

// The request that succeeds as it stands, into the results that the fingerprint covers.
void ExpectServes(RefusalScene& scene) {
  v1::TopKResponse response;
  const grpc::Status status =
      scene.mine().indexer().TopK(Patient().get(), scene.GoodTopKOnResources(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  std::string bytes;
  ASSERT_TRUE(scene.mine().Read(scene.results, bytes).ok());
  EXPECT_EQ(bytes.substr(0, 24), BytesOf<int32_t>({5, 6, 7, 0, 1, 2}));
  EXPECT_EQ(bytes.substr(64, 24), BytesOf<int32_t>({45, 46, 47, 80, 81, 82}));
}

void ExpectSays(const Outcome& outcome, const Says& says) {
  EXPECT_EQ(outcome.code, says.code) << outcome.message;
  EXPECT_EQ(v1::ErrorReason_Name(outcome.detail.reason()), v1::ErrorReason_Name(says.reason))
      << outcome.message;
  EXPECT_EQ(outcome.detail.field(), says.field) << outcome.message;
  if (says.value != "*") {
    EXPECT_EQ(outcome.detail.value(), says.value) << outcome.message;
  }
  EXPECT_EQ(outcome.detail.limit(), says.limit) << outcome.message;
}

TEST(ResourceRefusalsTest, AtLeast250WrongRequestsAreRefusedExactlyAndChangeNothing) {
  ServerProcess server({.flags = RefusalFlags()});
  ASSERT_TRUE(server.running()) << server.log();
  RefusalScene scene(server);
  ExpectServes(scene);
  const std::string before = scene.Fingerprint();
  const std::vector<Refusal> refusals = AllRefusals();
  std::set<std::string> names;
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    names.insert(refusal.name);
    const Outcome outcome = refusal.call(scene);
    ExpectSays(outcome, refusal.says);
    if (refusal.says.found_while_running) {
      ASSERT_TRUE(scene.mine().Write(scene.results, 0, std::string(256, '\0')).ok());
    } else {
      ASSERT_TRUE(scene.Fingerprint() == before) << "something was written";
    }
    ExpectServes(scene);
    ASSERT_TRUE(scene.Fingerprint() == before) << "something else was written";
  }
  EXPECT_EQ(names.size(), refusals.size());
  EXPECT_GE(refusals.size(), 250u);
  std::printf("%zu wrong requests on resources and steps\n", refusals.size());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.AwaitExit(), 0) << server.log();
}

}  // namespace
}  // namespace winnow::testing
