// Items that are ordered with other processes' work: what is waited for, what is set, and who
// shares a launch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "server/backend/device_backend.h"
#include "server/backend/work_key.h"
#include "tests/testing/fake_sharing.h"
#include "tests/testing/forwarding_device.h"
#include "tests/testing/sharing_device.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using winnow::testing::FakeSharing;
using winnow::testing::ForwardingDevice;
using winnow::testing::SharingDevice;

// Reached when a word is set.
class WordEvent final : public Event {
 public:
  WordEvent(const std::byte* word, std::unique_ptr<Event> event)
      : word_(word), event_(std::move(event)) {}
  absl::Status Record(Stream& stream) override { return event_->Record(stream); }
  absl::Status Wait() override { return event_->Wait(); }
  absl::StatusOr<bool> Done() override { return FakeSharing::WordAt(word_) != 0; }
  absl::StatusOr<double> MicrosSince(const Event& start) override {
    return event_->MicrosSince(*static_cast<const WordEvent&>(start).event_);
  }

 private:
  const std::byte* const word_;
  const std::unique_ptr<Event> event_;
};

class WaitingDevice final : public ForwardingDevice {
 public:
  WaitingDevice(FakeSharing* sharing, const std::byte* word)
      : ForwardingDevice(std::make_unique<SharingDevice>(sharing)),
        sharing_(sharing),
        word_(word) {}
  MemorySharing* memory_sharing() override { return sharing_; }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    auto event = ForwardingDevice::CreateEvent();
    if (!event.ok()) return event.status();
    return std::make_unique<WordEvent>(word_, *std::move(event));
  }

 private:
  FakeSharing* const sharing_;
  const std::byte* const word_;
};

class LaunchWordsTest : public ::testing::Test {
 protected:
  void Open(FakeSharing* sharing) { Open(std::make_unique<SharingDevice>(sharing)); }
  void Open(std::unique_ptr<Device> device) {
    auto backend = DeviceBackend::Create(
        std::move(device),
        {.buffer_pool_bytes = int64_t{16} << 20, .staging_pool_bytes = int64_t{16} << 20});
    ASSERT_OK(backend);
    backend_ = *std::move(backend);
    sharing_.sets = 0;  // the backend has words of its own, which it set just now
  }
  void Run(const std::vector<WorkItem*>& items) {
    auto batch = std::make_unique<WorkBatch>();
    batch->items = items;
    absl::Notification done;
    backend_->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch>) { done.Notify(); });
    done.WaitForNotification();
  }

  FakeSharing sharing_;
  uint32_t words_[2] = {};
  std::unique_ptr<Backend> backend_;

  std::byte* Word(int index) { return reinterpret_cast<std::byte*>(&words_[index]); }
};

TEST_F(LaunchWordsTest, TheWordIsWaitedForBeforeAndSetAfter) {
  Open(&sharing_);
  words_[0] = 7;
  WorkItem item = MakeTopKItem(2, 64, 4);
  item.ordering = {
      .wait_word = Word(0), .wait_value = 7, .set_word = Word(1), .set_value = 0x80000001};
  Run({&item});
  ASSERT_OK(item.status);
  EXPECT_EQ(sharing_.waits, 1);
  EXPECT_EQ(words_[1], 0x80000001u);
}

TEST_F(LaunchWordsTest, EachItemOfALaunchSetsItsOwnWord) {
  Open(&sharing_);
  WorkItem first = MakeTopKItem(2, 64, 4);
  WorkItem second = MakeTopKItem(2, 64, 4);
  first.ordering = {.set_word = Word(0), .set_value = 1};
  second.ordering = {.set_word = Word(1), .set_value = 2};
  Run({&first, &second});
  ASSERT_OK(first.status);
  ASSERT_OK(second.status);
  EXPECT_EQ(words_[0], 1u);
  EXPECT_EQ(words_[1], 2u);
}

TEST_F(LaunchWordsTest, AWaitThatFailsIsEndedAndTheItemIsNotTriedAgain) {
  Open(&sharing_);
  WorkItem item = MakeTopKItem(2, 64, 4);
  item.ordering = {.wait_word = Word(0), .wait_value = 9};
  Run({&item});
  EXPECT_FALSE(item.status.ok());
  EXPECT_EQ(sharing_.waits, 1);
  EXPECT_EQ(words_[0], 9u) << "what was enqueued behind the wait must not stay there";
}

TEST_F(LaunchWordsTest, AWaitIsEndedAlthoughItsPeerWritesOverTheWord) {
  Open(std::make_unique<WaitingDevice>(&sharing_, Word(0)));
  sharing_.sets_undone = 2;
  WorkItem item = MakeTopKItem(2, 64, 4);
  item.ordering = {.wait_word = Word(0), .wait_value = 9};
  Run({&item});
  EXPECT_FALSE(item.status.ok());
  EXPECT_EQ(sharing_.sets, 3);
  EXPECT_EQ(words_[0], 9u);
}

TEST_F(LaunchWordsTest, AWaitThatNobodyWantsEndsBeforeItsTime) {
  sharing_.endless_waits = true;
  Open(std::make_unique<WaitingDevice>(&sharing_, Word(0)));
  for (const auto& [why, reason] : {std::pair(WaitEnd::kDraining, ErrorReason::kServerDraining),
                                    std::pair(WaitEnd::kLeaseEnded, ErrorReason::kLeaseEnded)}) {
    words_[0] = 0;
    WorkItem item = MakeTopKItem(2, 64, 4);
    item.ordering = {.wait_word = Word(0), .wait_value = 9, .wait_timeout = absl::Hours(1)};
    item.ordering.wait_end = std::make_shared<std::atomic<WaitEnd>>(why);
    Run({&item});
    EXPECT_EQ(item.status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(item.status, FailsWith(reason, "ordering.wait_for"));
    EXPECT_EQ(words_[0], 9u) << "what was enqueued behind the wait must not stay there";
  }
}

TEST_F(LaunchWordsTest, AWaitGoesOnWhileOneOfItsItemsIsWanted) {
  sharing_.endless_waits = true;
  Open(std::make_unique<WaitingDevice>(&sharing_, Word(0)));
  WorkItem given_up = MakeTopKItem(2, 64, 4), wanted = MakeTopKItem(2, 64, 4);
  for (WorkItem* item : {&given_up, &wanted}) {
    item->ordering = {.wait_word = Word(0), .wait_value = 9, .wait_timeout = absl::Milliseconds(1)};
    item->ordering.wait_end = std::make_shared<std::atomic<WaitEnd>>(WaitEnd::kNone);
  }
  given_up.ordering.wait_end->store(WaitEnd::kLeaseEnded);
  Run({&given_up, &wanted});
  EXPECT_THAT(wanted.status, FailsWith(ErrorReason::kDeadlineExpired, "ordering.wait_for"));
}

TEST_F(LaunchWordsTest, TheEndOfAWaitSetsNoWordBack) {
  Open(std::make_unique<WaitingDevice>(&sharing_, Word(0)));
  sharing_.waits_fail = true;
  words_[0] = 12;
  WorkItem item = MakeTopKItem(2, 64, 4);
  item.ordering = {.wait_word = Word(0), .wait_value = 9};
  Run({&item});
  EXPECT_FALSE(item.status.ok());
  EXPECT_EQ(words_[0], 12u);
  EXPECT_EQ(sharing_.sets, 0);
}

TEST_F(LaunchWordsTest, ADeviceWithoutWordsSaysSo) {
  Open(nullptr);
  WorkItem item = MakeTopKItem(2, 64, 4);
  item.ordering = {.set_word = Word(0), .set_value = 1};
  Run({&item});
  EXPECT_THAT(item.status, FailsWith(ErrorReason::kNotInBuild, "ordering"));
}

TEST_F(LaunchWordsTest, ItemsThatWaitForDifferentWordsShareNoLaunch) {
  const auto key = [&](int word, uint32_t value) {
    WorkItem item = MakeTopKItem(2, 64, 4);
    item.ordering = {.wait_word = Word(word), .wait_value = value};
    return BatchKey(item);
  };
  EXPECT_EQ(key(0, 1), key(0, 1));
  EXPECT_NE(key(0, 1), key(1, 1));
  EXPECT_NE(key(0, 1), key(0, 2));
  EXPECT_NE(key(0, 1), BatchKey(MakeTopKItem(2, 64, 4)));
}

}  // namespace
}  // namespace winnow::server
