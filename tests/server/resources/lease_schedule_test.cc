// Random schedules of everything that can happen to leases, from several threads, with a clock that
// jumps.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "server/resources/lease_ledger.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/random.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::Random;

class FakeResource final : public Resource {
 public:
  explicit FakeResource(std::atomic<int64_t>* alive) : alive_(alive) { ++*alive_; }
  ~FakeResource() override { --*alive_; }
  ResourceKind kind() const override { return ResourceKind::kBuffer; }
  int64_t size_bytes() const override { return 1; }

 private:
  std::atomic<int64_t>* const alive_;
};

struct World {
  FakeClock clock;
  std::atomic<int64_t> alive{0};
  std::atomic<int64_t> opened{0};
  std::atomic<int64_t> ended{0};
  LeaseLedger ledger{{.max_leases = 8, .max_lease_resources = 4, .max_lease_inflight = 3},
                     &clock,
                     [this](int64_t, absl::string_view, auto finished) {
                       ++ended;
                       std::move(finished)();
                     }};
};

// One client: opens and loses leases, adds, uses and releases resources, and keeps some in hand as
// a running request does.
void RunClient(World& world, uint64_t seed) {
  Random random(seed);
  std::vector<LeaseGrant> grants;
  std::vector<std::pair<std::string, ResourceId>> ids;
  std::vector<std::shared_ptr<Resource>> in_use;
  for (int step = 0; step < 40; ++step) {
    switch (random.Below(9)) {
      case 0: {
        const auto grant = world.ledger.Open({.resume_grace = absl::Seconds(random.Below(3))});
        if (!grant.ok()) break;
        ++world.opened;
        grants.push_back(*grant);
        break;
      }
      case 1:
        if (!grants.empty()) world.ledger.StreamLost(grants[random.Below(grants.size())]);
        break;
      case 2: {
        if (grants.empty()) break;
        const auto again = world.ledger.Resume(grants[random.Below(grants.size())].lease_id, "");
        if (again.ok()) grants.push_back(*again);
        break;
      }
      case 3:
        if (!grants.empty()) (void)world.ledger.End(grants[random.Below(grants.size())].number, "");
        break;
      case 4:
        world.clock.Advance(absl::Seconds(1));
        world.ledger.ExpireGraces();
        break;
      case 5: {
        if (grants.empty()) break;
        const std::string& lease = grants[random.Below(grants.size())].lease_id;
        auto holds = world.ledger.Reserve(lease, 1);
        if (!holds.ok()) break;
        const auto id = world.ledger.Add(lease, std::make_shared<FakeResource>(&world.alive),
                                         *std::move(holds));
        if (id.ok()) ids.emplace_back(lease, *id);
        break;
      }
      case 6: {
        if (ids.empty()) break;
        const auto& [lease, id] = ids[random.Below(ids.size())];
        const auto found = world.ledger.Find(lease, id, ResourceKind::kBuffer, "buffer");
        if (found.ok()) in_use.push_back(*found);
        break;
      }
      case 7: {
        if (ids.empty()) break;
        const auto& [lease, id] = ids[random.Below(ids.size())];
        (void)world.ledger.Release(lease, id, ResourceKind::kBuffer, "buffer");
        break;
      }
      case 8:
        in_use.clear();
        (void)world.ledger.List();
        break;
    }
  }
}

TEST(LeaseScheduleTest, EverythingComesBackWhateverHappens) {
  const uint64_t first_seed = winnow::testing::SeedFromEnvironment("WINNOW_TEST_SEED");
  std::printf("schedules from seed %llu\n", static_cast<unsigned long long>(first_seed));
  for (uint64_t schedule = 0; schedule < 2000; ++schedule) {
    SCOPED_TRACE(first_seed + schedule);
    World world;
    std::thread other([&] { RunClient(world, (first_seed + schedule) * 2 + 1); });
    RunClient(world, (first_seed + schedule) * 2);
    other.join();
    world.ledger.Close("the test is over");
    ASSERT_EQ(world.alive, 0);
    ASSERT_EQ(world.ledger.used_bytes(), 0);
    ASSERT_EQ(world.opened, world.ended);
    ASSERT_TRUE(world.ledger.List().empty());
  }
}

}  // namespace
}  // namespace winnow::server
