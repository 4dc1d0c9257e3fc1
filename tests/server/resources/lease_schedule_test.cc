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
                     [this](const LeaseEnding&, auto finished) {
                       ++ended;
                       std::move(finished)();
                     }};
};

// One client: opens and loses leases, adds, uses and releases resources, and keeps some in hand as
// a running request does.
class Client {
 public:
  Client(World& world, uint64_t seed) : world_(world), random_(seed) {}

  void Run() {
    using Step = void (Client::*)();
    constexpr Step kSteps[] = {&Client::Open,    &Client::Lose, &Client::Resume, &Client::End,
                               &Client::Close,   &Client::Wait, &Client::Add,    &Client::Find,
                               &Client::Release, &Client::LetGo};
    for (int step = 0; step < 40; ++step) (this->*kSteps[random_.Below(std::size(kSteps))])();
  }

 private:
  // One of those it has seen, live or not; null before the first.
  template <typename T>
  const T* Any(const std::vector<T>& seen) {
    return seen.empty() ? nullptr : &seen[random_.Below(static_cast<int64_t>(seen.size()))];
  }

  void Open() {
    const auto grant = world_.ledger.Open({.resume_grace = absl::Seconds(random_.Below(3))});
    if (!grant.ok()) return;
    ++world_.opened;
    grants_.push_back(*grant);
  }
  void Lose() {
    if (const LeaseGrant* grant = Any(grants_)) world_.ledger.StreamLost(*grant);
  }
  void Resume() {
    const LeaseGrant* grant = Any(grants_);
    if (grant == nullptr) return;
    const auto again = world_.ledger.Resume(grant->lease_id, "");
    if (again.ok()) grants_.push_back(*again);
  }
  void End() {
    if (const LeaseGrant* grant = Any(grants_)) (void)world_.ledger.End(grant->number, "");
  }
  void Close() {
    const LeaseGrant* grant = Any(grants_);
    if (grant == nullptr) return;
    (void)world_.ledger.CloseLease(grant->lease_id);
    EXPECT_FALSE(world_.ledger.IsHeld(*grant));
    EXPECT_TRUE(absl::IsFailedPrecondition(world_.ledger.Use(grant->lease_id).status()));
  }
  void Wait() {
    world_.clock.Advance(absl::Seconds(1));
    world_.ledger.ExpireGraces();
  }
  void Add() {
    const LeaseGrant* grant = Any(grants_);
    if (grant == nullptr) return;
    auto holds = world_.ledger.Reserve(grant->lease_id, 1);
    if (!holds.ok()) return;
    const auto id = world_.ledger.Add(
        grant->lease_id, std::make_shared<FakeResource>(&world_.alive), *std::move(holds));
    if (id.ok()) ids_.emplace_back(grant->lease_id, *id);
  }
  void Find() {
    const Id* id = Any(ids_);
    if (id == nullptr) return;
    const auto found = world_.ledger.Find(id->first, id->second, ResourceKind::kBuffer, "buffer");
    if (found.ok()) in_use_.push_back(*found);
  }
  void Release() {
    const Id* id = Any(ids_);
    if (id == nullptr) return;
    (void)world_.ledger.Release(id->first, id->second, ResourceKind::kBuffer, "buffer");
  }
  void LetGo() {
    in_use_.clear();
    (void)world_.ledger.List();
  }

  using Id = std::pair<std::string, ResourceId>;

  World& world_;
  Random random_;
  std::vector<LeaseGrant> grants_;
  std::vector<Id> ids_;
  std::vector<std::shared_ptr<Resource>> in_use_;
};

TEST(LeaseScheduleTest, EverythingComesBackWhateverHappens) {
  const uint64_t first_seed = winnow::testing::SeedFromEnvironment("WINNOW_TEST_SEED");
  std::printf("schedules from seed %llu\n", static_cast<unsigned long long>(first_seed));
  for (uint64_t schedule = 0; schedule < 2000; ++schedule) {
    SCOPED_TRACE(first_seed + schedule);
    World world;
    std::thread other([&] { Client(world, (first_seed + schedule) * 2 + 1).Run(); });
    Client(world, (first_seed + schedule) * 2).Run();
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
