// Launches whose ends the test decides: who waits for them, on which thread, and in which order.

#include "server/backend/completion_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/backend/device_backend.h"
#include "tests/testing/discrete_device.h"
#include "tests/testing/fake_sharing.h"
#include "tests/testing/forwarding_device.h"
#include "tests/testing/sharing_device.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"

namespace winnow::server {
namespace {

using std::chrono::microseconds;
using winnow::testing::ForwardingDevice;

TEST(LookTimeTest, IsTwoLaunchesWithinBounds) {
  EXPECT_EQ(LookTime(microseconds(30)), microseconds(60));
  EXPECT_EQ(LookTime(microseconds(0)), microseconds(20));
  EXPECT_EQ(LookTime(microseconds(5000)), microseconds(100));
}

TEST(NapTimeTest, IsSmallBesideTheLaunchAndBounded) {
  EXPECT_EQ(NapTime(microseconds(400)), microseconds(50));
  EXPECT_EQ(NapTime(microseconds(1)), microseconds(10));
  EXPECT_EQ(NapTime(std::chrono::seconds(9)), std::chrono::milliseconds(1));
}

// Counts how often events are asked and recorded, and says "not done" while it is shut.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<int64_t> asked{0}, recorded{0};
};

class GatedEvent final : public Event {
 public:
  GatedEvent(Gate* gate, std::unique_ptr<Event> event) : gate_(*gate), event_(std::move(event)) {}
  absl::Status Record(Stream& stream) override {
    ++gate_.recorded;
    return event_->Record(stream);
  }
  absl::Status Wait() override { return event_->Wait(); }
  absl::StatusOr<bool> Done() override {
    ++gate_.asked;
    return gate_.open.load();
  }
  absl::StatusOr<double> MicrosSince(const Event& start) override {
    return event_->MicrosSince(*static_cast<const GatedEvent&>(start).event_);
  }

 private:
  Gate& gate_;
  const std::unique_ptr<Event> event_;
};

class GatedDevice final : public ForwardingDevice {
 public:
  explicit GatedDevice(Gate* gate,
                       std::unique_ptr<Device> device = winnow::testing::MakeDiscreteDevice(4096))
      : ForwardingDevice(std::move(device)), gate_(gate) {}
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    auto event = ForwardingDevice::CreateEvent();
    if (!event.ok()) return event.status();
    return std::make_unique<GatedEvent>(gate_, *std::move(event));
  }

 private:
  Gate* const gate_;
};

class CompletionThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto backend = DeviceBackend::Create(
        std::make_unique<GatedDevice>(&gate_),
        {.launch_slots = 2, .buffer_pool_bytes = 1 << 20, .staging_pool_bytes = 1 << 20});
    ASSERT_OK(backend);
    backend_ = *std::move(backend);
  }

  template <typename Done>
  void Launch(std::vector<WorkItem*> items, Done done) {
    auto batch = std::make_unique<WorkBatch>();
    batch->items = std::move(items);
    batch->high_priority = true;
    backend_->Launch(std::move(batch),
                     [done = std::move(done)](std::unique_ptr<WorkBatch>) mutable { done(); });
  }

  Gate gate_;
  std::unique_ptr<Backend> backend_;
};

TEST_F(CompletionThreadTest, LaunchReturnsWhileTheDeviceWorksAndDoneComesAfterIt) {
  WorkItem item = MakeTopKItem(1, 64, 4);
  absl::Notification done;
  Launch({&item}, [&] { done.Notify(); });
  EXPECT_FALSE(done.HasBeenNotified());
  gate_.open = true;
  done.WaitForNotification();
  EXPECT_OK(item.status);
  EXPECT_GE(gate_.asked, 1);
}

TEST_F(CompletionThreadTest, TheEndIsFoundAfterTheThreadHasBegunToNap) {
  WorkItem item = MakeTopKItem(1, 64, 4);
  absl::Notification done;
  Launch({&item}, [&] { done.Notify(); });
  // By the clock that it uses. It looks without a pause for 100 us at most; a nap of a launch of 4
  // ms takes 500 us, of an older one longer.
  while (gate_.asked == 0) std::this_thread::yield();
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begun + std::chrono::milliseconds(4)) {
  }
  const auto counted_from = std::chrono::steady_clock::now();
  const int64_t asked = gate_.asked;
  while (std::chrono::steady_clock::now() < begun + std::chrono::milliseconds(24)) {
  }
  const int64_t naps = gate_.asked - asked;
  const std::chrono::duration<double, std::milli> counted =
      std::chrono::steady_clock::now() - counted_from;
  EXPECT_LE(naps, counted.count() / 0.5 + 1);
  gate_.open = true;
  done.WaitForNotification();
  EXPECT_OK(item.status);
}

TEST_F(CompletionThreadTest, NothingIsAskedForWhileNothingIsUnderWay) {
  gate_.open = true;
  WorkItem item = MakeTopKItem(1, 64, 4);
  absl::Notification done;
  Launch({&item}, [&] { done.Notify(); });
  done.WaitForNotification();
  backend_->Drain();
  const int64_t asked = gate_.asked;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < enough) {
  }
  EXPECT_EQ(gate_.asked, asked);
}

TEST_F(CompletionThreadTest, RepliesToManyRequestsComeFromAnotherThreadThanRepliesToFew) {
  gate_.open = true;
  std::vector<WorkItem> items;
  std::vector<WorkItem*> many;
  for (int i = 0; i < 40; ++i) items.push_back(MakeTopKItem(1, 64, 4));
  for (WorkItem& item : items) many.push_back(&item);
  std::thread::id of_few, of_many;
  WorkItem one = MakeTopKItem(1, 64, 4);
  absl::Notification few_done, many_done;
  Launch({&one}, [&] {
    of_few = std::this_thread::get_id();
    few_done.Notify();
  });
  few_done.WaitForNotification();
  Launch(many, [&] {
    of_many = std::this_thread::get_id();
    many_done.Notify();
  });
  many_done.WaitForNotification();
  EXPECT_NE(of_few, of_many);
  EXPECT_NE(of_few, std::this_thread::get_id());
  for (const WorkItem& item : items) EXPECT_OK(item.status);
}

// A device that sets words, and whose events say that they are done when the gate is open.
class DoneWordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto backend = DeviceBackend::Create(
        std::make_unique<GatedDevice>(&gate_,
                                      std::make_unique<winnow::testing::SharingDevice>(&sharing_)),
        {.launch_slots = 2, .buffer_pool_bytes = 1 << 20, .staging_pool_bytes = 1 << 20});
    ASSERT_OK(backend);
    backend_ = *std::move(backend);
    sets_of_opening_ = sharing_.sets;
  }

  void Launch(WorkItem& item, bool high_priority, absl::Notification& done) {
    auto batch = std::make_unique<WorkBatch>();
    batch->items = {&item};
    batch->high_priority = high_priority;
    backend_->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch>) { done.Notify(); });
  }

  Gate gate_;
  winnow::testing::FakeSharing sharing_;
  std::unique_ptr<Backend> backend_;
  int sets_of_opening_ = 0;
};

TEST_F(DoneWordTest, AnInteractiveLaunchNeedsNoEventsOfTheDriver) {
  for (int i = 0; i < 10; ++i) {
    WorkItem item = MakeTopKItem(1, 64, 4);
    absl::Notification done;
    Launch(item, /*high_priority=*/true, done);
    done.WaitForNotification();
    ASSERT_OK(item.status);
    EXPECT_GT(item.timing.device, absl::ZeroDuration());
  }
  EXPECT_EQ(sharing_.sets, sets_of_opening_ + 10);
  EXPECT_EQ(gate_.recorded, 0);
  EXPECT_EQ(gate_.asked, 0);
}

TEST_F(DoneWordTest, OtherLaunchesAreTimedByTheDevice) {
  WorkItem item = MakeTopKItem(1, 64, 4);
  absl::Notification done;
  Launch(item, /*high_priority=*/false, done);
  done.WaitForNotification();
  EXPECT_OK(item.status);
  EXPECT_EQ(sharing_.sets, sets_of_opening_ + 1) << "the word tells their end too";
  EXPECT_EQ(gate_.recorded, 2);
}

TEST_F(DoneWordTest, WhenTheWordStaysAwayTheDriverTellsTheEnd) {
  sharing_.sets_undone = sets_of_opening_ + 1;
  WorkItem item = MakeTopKItem(1, 64, 4);
  absl::Notification done;
  Launch(item, /*high_priority=*/true, done);
  while (gate_.asked == 0) std::this_thread::yield();
  EXPECT_FALSE(done.HasBeenNotified());
  gate_.open = true;
  done.WaitForNotification();
  EXPECT_OK(item.status);
  EXPECT_EQ(gate_.recorded, 1) << "behind the launch, when it was asked for first";
  EXPECT_GT(item.timing.device, absl::ZeroDuration());
}

TEST_F(CompletionThreadTest, MoreLaunchesThanExecutorsAllEnd) {
  std::vector<WorkItem> items;
  for (int i = 0; i < 20; ++i) items.push_back(MakeTopKItem(1, 64, 4));
  std::atomic<int> ended{0};
  for (WorkItem& item : items) Launch({&item}, [&] { ++ended; });
  gate_.open = true;
  backend_->Drain();
  EXPECT_EQ(ended, 20);
}

TEST_F(CompletionThreadTest, ACallbackMayLaunchAgain) {
  WorkItem first = MakeTopKItem(1, 64, 4);
  WorkItem second = MakeTopKItem(1, 64, 4);
  std::atomic<int> ended{0};
  Launch({&first}, [&] {
    ++ended;
    Launch({&second}, [&] { ++ended; });
  });
  gate_.open = true;
  backend_->Drain();
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace winnow::server
