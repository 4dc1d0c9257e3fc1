// The state of a lease without a server: who is let through, and what they find.

#include "client/src/lease_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow::client {
namespace {

using ::winnow::testing::FailsWith;

std::shared_ptr<ResourceRecord> BufferRecord(int64_t id, int64_t size_bytes = 64) {
  auto record = std::make_shared<ResourceRecord>(AllocatedSource{.size_bytes = size_bytes});
  record->id = {.id = id, .generation = 1};
  return record;
}

ResourceUse Use(const ResourceRef& ref, bool writes = false, int64_t begin = 0, int64_t end = 8) {
  return {.ref = ref,
          .field = "scores.buffer",
          .writes = writes,
          .bytes = {.offset = begin, .rows = 1, .row_bytes = end - begin}};
}

class LeaseCoreTest : public ::testing::Test {
 protected:
  LeaseCoreTest() { core_.Opened({.lease_id = "first"}, /*other_server=*/true); }

  // The keeper's part of a restart: another lease, where every buffer is new.
  void Restart(const std::string& lease_id) {
    ASSERT_TRUE(core_.BeginRecovery(absl::UnavailableError("socket closed")));
    for (const auto& [ref, record] : core_.Records()) {
      core_.With(ref, [](ResourceRecord& found) {
        found.id.id += 100;
        found.lost.Add(0, found.size_bytes());
      });
    }
    core_.Opened({.lease_id = lease_id}, /*other_server=*/true);
  }
  absl::Status Admit(ResourceUse use) { return core_.Admit(absl::MakeSpan(&use, 1)).status(); }

  LeaseCore core_;
};

TEST_F(LeaseCoreTest, AnOpenLeaseNamesItselfAndItsResources) {
  const ResourceRef ref = core_.Add(BufferRecord(7));
  ResourceUse use = Use(ref);
  const auto pass = core_.Admit(absl::MakeSpan(&use, 1));
  ASSERT_OK(pass);
  ASSERT_TRUE(pass->has_value());
  EXPECT_EQ((*pass)->lease_id, "first");
  EXPECT_EQ(use.id.id, 7);
}

TEST_F(LeaseCoreTest, ReferencesFailEachWithItsOwnReason) {
  const ResourceRef ref = core_.Add(BufferRecord(7));
  const ResourceRef released = core_.Add(BufferRecord(8));
  EXPECT_NE(core_.Remove(released), nullptr);
  EXPECT_EQ(core_.Remove(released), nullptr);
  LeaseCore other;
  other.Opened({.lease_id = "other"}, true);
  EXPECT_THAT(Admit(Use({})), FailsWith(ErrorReason::kFieldMissing, "scores.buffer"));
  EXPECT_THAT(Admit(Use(other.Add(BufferRecord(7)))),
              FailsWith(ErrorReason::kResourceForeign, "scores.buffer"));
  EXPECT_THAT(Admit(Use(released)), FailsWith(ErrorReason::kResourceStale, "scores.buffer"));
  EXPECT_THAT(Admit(Use({ref.lease, 99})),
              FailsWith(ErrorReason::kResourceNotFound, "scores.buffer"));
  ResourceUse plan = Use(ref);
  plan.kind = ResourceKind::kPlan;
  EXPECT_THAT(Admit(plan), FailsWith(ErrorReason::kFieldsConflict, "scores.buffer"));
}

TEST_F(LeaseCoreTest, LostBytesAreRefusedUntilTheyAreWritten) {
  const ResourceRef ref = core_.Add(BufferRecord(7));
  Restart("second");
  EXPECT_TRUE(absl::IsDataLoss(Admit(Use(ref))));
  EXPECT_OK(Admit(Use(ref, /*writes=*/true)));
  ResourceUse write = Use(ref, /*writes=*/true, 0, 32);
  const auto pass = core_.Admit(absl::MakeSpan(&write, 1));
  ASSERT_OK(pass);
  EXPECT_EQ(write.id.id, 107);
  core_.Written(**pass, {write});
  EXPECT_OK(Admit(Use(ref)));
  EXPECT_TRUE(absl::IsDataLoss(Admit(Use(ref, false, 31, 33))));
}

TEST_F(LeaseCoreTest, WhatWasWrittenBeforeARestartIsLost) {
  const ResourceRef ref = core_.Add(BufferRecord(7));
  ResourceUse write = Use(ref, /*writes=*/true);
  const auto before = core_.Admit(absl::MakeSpan(&write, 1));
  ASSERT_OK(before);
  Restart("second");
  core_.Written(**before, {write});  // the reply was read late
  EXPECT_TRUE(absl::IsDataLoss(Admit(Use(ref))));
}

TEST_F(LeaseCoreTest, AResourceThatCouldNotBeMadeAgainSaysWhy) {
  const ResourceRef ref = core_.Add(BufferRecord(7));
  core_.With(ref, [](ResourceRecord& record) {
    record.broken = MakeError(absl::StatusCode::kResourceExhausted, "no memory",
                              {.reason = ErrorReason::kQuotaExceeded, .field = "size_bytes"});
  });
  EXPECT_THAT(Admit(Use(ref)), FailsWith(ErrorReason::kQuotaExceeded, "size_bytes"));
}

TEST_F(LeaseCoreTest, NobodyPassesWhileTheLeaseRecovers) {
  ASSERT_TRUE(core_.BeginRecovery(absl::UnavailableError("socket closed")));
  const auto pass = core_.Admit({});
  ASSERT_OK(pass);
  EXPECT_FALSE(pass->has_value());
  EXPECT_TRUE(absl::IsUnavailable(core_.status()));
  EXPECT_TRUE(absl::IsUnavailable(core_.BeginMutation(absl::Now(), {}).status()));
  core_.Opened({.lease_id = "first", .resumed = true}, false);
  EXPECT_OK(core_.BeginMutation(absl::Now(), {}));
  core_.EndMutation();
}

TEST_F(LeaseCoreTest, ASuspectedLeaseLetsNobodyThroughAndItsStreamIsCancelled) {
  int cancelled = 0;
  core_.SetStreamCanceller([&cancelled] { ++cancelled; });
  const LeasePass pass = **core_.Admit({});
  core_.Suspect(pass, /*cancel_stream=*/true);
  EXPECT_EQ(cancelled, 1);
  EXPECT_FALSE(core_.Admit({})->has_value());
  Restart("second");
  EXPECT_TRUE(core_.Admit({})->has_value());
  core_.Suspect(pass, /*cancel_stream=*/true);  // of the lease before
  EXPECT_EQ(cancelled, 1);
  EXPECT_TRUE(core_.Admit({})->has_value());
  EXPECT_TRUE(core_.LostSince(pass));
  EXPECT_TRUE(core_.OtherServerSince(pass));
}

TEST_F(LeaseCoreTest, ARecoveryWaitsForMutations) {
  ASSERT_OK(core_.BeginMutation(absl::InfiniteFuture(), {}));
  std::atomic<bool> ended{false};
  std::thread keeper([&] {
    EXPECT_TRUE(core_.BeginRecovery(absl::UnavailableError("socket closed")));
    EXPECT_TRUE(ended);
    core_.Opened({.lease_id = "second"}, true);
  });
  // The mutation ends after the loss is known.
  while (core_.status().ok()) std::this_thread::yield();
  ended = true;
  core_.EndMutation();
  EXPECT_OK(core_.BeginMutation(absl::InfiniteFuture(), {}));
  core_.EndMutation();
  keeper.join();
}

TEST_F(LeaseCoreTest, ADoubtIsSweptByOneWhileNothingElseGoesOn) {
  EXPECT_FALSE(core_.BeginSweep().has_value());
  ASSERT_OK(core_.BeginMutation(absl::InfiniteFuture(), {}));
  core_.Doubt();
  EXPECT_FALSE(core_.BeginSweep().has_value());
  core_.EndMutation();
  const std::optional<LeasePass> sweep = core_.BeginSweep();
  ASSERT_TRUE(sweep.has_value());
  EXPECT_EQ(sweep->lease_id, "first");
  EXPECT_FALSE(core_.BeginSweep().has_value());
  // Who makes something now would see it swept away.
  const auto early = core_.BeginMutation(absl::InfinitePast(), {});
  EXPECT_TRUE(absl::IsUnavailable(early.status())) << early.status();
  std::atomic<bool> swept{false};
  std::thread waiter([&] {
    EXPECT_OK(core_.BeginMutation(absl::InfiniteFuture(), {}));
    EXPECT_TRUE(swept);
    core_.EndMutation();
  });
  swept = true;
  core_.EndSweep(/*swept=*/true);
  waiter.join();
  EXPECT_FALSE(core_.BeginSweep().has_value());
}

TEST_F(LeaseCoreTest, ADoubtLastsUntilASweepSucceedsOnTheOpenLease) {
  core_.Doubt();
  ASSERT_TRUE(core_.BeginSweep().has_value());
  core_.EndSweep(/*swept=*/false);
  ASSERT_TRUE(core_.BeginRecovery(absl::UnavailableError("socket closed")));
  EXPECT_FALSE(core_.BeginSweep().has_value());
  core_.Opened({.lease_id = "second"}, true);
  EXPECT_TRUE(core_.BeginSweep().has_value());
}

TEST_F(LeaseCoreTest, AStopTokenEndsTheWaitForAnOpenLease) {
  ASSERT_TRUE(core_.BeginRecovery(absl::UnavailableError("socket closed")));
  std::stop_source stop;
  std::thread caller([&] {
    EXPECT_TRUE(
        absl::IsCancelled(core_.BeginMutation(absl::InfiniteFuture(), stop.get_token()).status()));
  });
  stop.request_stop();
  caller.join();
}

TEST_F(LeaseCoreTest, TheOwnersEndIsForGood) {
  const ResourceRef ref = core_.Add(BufferRecord(7));
  EXPECT_TRUE(core_.Close());
  EXPECT_FALSE(core_.Close());
  EXPECT_THAT(Admit(Use(ref)), FailsWith(ErrorReason::kLeaseEnded, ""));
  EXPECT_THAT(core_.BeginMutation(absl::InfiniteFuture(), {}).status(),
              FailsWith(ErrorReason::kLeaseEnded, ""));
  core_.Opened({.lease_id = "too late"}, true);
  EXPECT_FALSE(core_.BeginRecovery(absl::UnavailableError("socket closed")));
  EXPECT_THAT(core_.status(), FailsWith(ErrorReason::kLeaseEnded, ""));
  EXPECT_TRUE(core_.AwaitClosing(absl::InfiniteDuration()));
}

// For ThreadSanitizer: everybody at once, through several restarts.
TEST_F(LeaseCoreTest, ManyThreadsAndRestartsLeaveAConsistentLease) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  constexpr int kRestarts = 30;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + t);
      ResourceRef mine = core_.Add(BufferRecord(1000 * (t + 1)));
      while (!done) {
        ResourceUse use = Use(mine, random() % 2 == 0);
        const auto pass = core_.Admit(absl::MakeSpan(&use, 1));
        if (pass.ok() && pass->has_value() && use.writes) core_.Written(**pass, {use});
        if (random() % 8 == 0 && pass.ok() && pass->has_value()) core_.Suspect(**pass, true);
        if (core_.BeginMutation(absl::Now() + absl::Milliseconds(1), {}).ok()) {
          if (random() % 4 == 0) {
            EXPECT_NE(core_.Remove(mine), nullptr);
            mine = core_.Add(BufferRecord(1000 * (t + 1)));
          }
          core_.EndMutation();
        }
      }
      EXPECT_NE(core_.Remove(mine), nullptr);
    });
  }
  for (int restart = 0; restart < kRestarts; ++restart) {
    Restart(absl::StrCat("lease ", restart));
    for (int turn = 0; turn < 100; ++turn) std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(core_.Records().empty());
}

}  // namespace
}  // namespace winnow::client
