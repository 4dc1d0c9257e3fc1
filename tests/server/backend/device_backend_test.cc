// What the backend promises besides right results: calling back, statuses, memory, sub-launches.
// backend_contract_test.cc compares results with the reference.

#include "server/backend/device_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "tests/testing/discrete_device.h"
#include "tests/testing/forwarding_device.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using winnow::testing::FailsWith;

enum class Kind { kCpu, kDiscrete };

class DeviceBackendTest : public ::testing::TestWithParam<Kind> {
 protected:
  void Open(DeviceBackendOptions options = {}, int64_t workspace_bytes = 0) {
    options.buffer_pool_bytes = 1 << 20;
    if (options.staging_pool_bytes == DeviceBackendOptions{}.staging_pool_bytes) {
      options.staging_pool_bytes = 4 << 20;
    }
    auto device = GetParam() == Kind::kCpu ? *OpenCpuDevice({.threads = 1})
                                           : winnow::testing::MakeDiscreteDevice(workspace_bytes);
    auto backend = DeviceBackend::Create(std::move(device), options);
    ASSERT_OK(backend);
    backend_ = *std::move(backend);
  }

  void Run(const std::vector<WorkItem*>& items) {
    auto batch = std::make_unique<WorkBatch>();
    batch->items = items;
    absl::Notification done;
    backend_->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch> finished) {
      EXPECT_EQ(finished->items, items);
      done.Notify();
    });
    done.WaitForNotification();
  }

  static TopKStep& TopKOf(WorkItem& item, size_t step = 0) {
    return std::get<TopKStep>(item.steps[step]);
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(DeviceBackendTest, ResultsCountsAndTimesComeBack) {
  Open({}, 4096);
  HostArena arena;
  WorkItem item = MakeTopKItem(3, 8, 2);
  TopKOf(item).params.deterministic = true;
  TopKOf(item).lengths = arena.AddVector({8, -4, 2});
  Run({&item});
  ASSERT_OK(item.status);
  ASSERT_EQ(item.results.size(), 1u);
  const StepResult& result = item.results[0];
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].name, OutputName::kIndices);
  EXPECT_EQ(result.outputs[0].rows, 3);
  EXPECT_EQ(result.outputs[0].columns, 2);
  // Scores of the first row: 0 37 74 10 47 84 20 57.
  EXPECT_THAT(Int32s(result.outputs[0]), ElementsAre(2, 5, -1, -1, 0, 1));
  EXPECT_EQ(result.negative_rows, 1);
  EXPECT_EQ(result.route_rows[static_cast<int>(Route::kIdentity)], 2);
  EXPECT_GE(item.timing.launch, absl::ZeroDuration());
  EXPECT_GE(item.timing.device, absl::ZeroDuration());
  EXPECT_EQ(item.timing.batch_items, 1);
  EXPECT_EQ(item.timing.batch_rows, 3);
}

// Holds selections of many rows until it is told to go on.
class HoldingDevice final : public winnow::testing::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::Status TopK(Stream& stream, const TopKParams& params,
                    absl::Span<const TopKSegment> segments,
                    absl::Span<std::byte> workspace) override {
    if (segments[0].rows >= kManyRows) {
      held.Notify();
      go_on.WaitForNotification();
    }
    return ForwardingDevice::TopK(stream, params, segments, workspace);
  }
  static constexpr int64_t kManyRows = 100;
  absl::Notification held, go_on;
};

// Only one slot takes any work, so urgent work would wait if bulk work were in it.
TEST(BulkSlotTest, BulkWorkHasAThreadOfItsOwnAndUrgentWorkDoesNotWaitForIt) {
  auto made = std::make_unique<HoldingDevice>(*OpenCpuDevice({.threads = 1}));
  HoldingDevice& device = *made;
  auto backend = DeviceBackend::Create(
      std::move(made),
      {.launch_slots = 1, .buffer_pool_bytes = 1 << 20, .staging_pool_bytes = 4 << 20});
  ASSERT_OK(backend);
  std::thread::id bulk_thread, urgent_thread;
  absl::Notification bulk_done, urgent_done;
  const auto launch = [&](WorkItem& item, bool urgent, std::thread::id& thread,
                          absl::Notification& done) {
    auto batch = std::make_unique<WorkBatch>();
    batch->items = {&item};
    batch->high_priority = urgent;
    (*backend)->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch>) {
      thread = std::this_thread::get_id();
      done.Notify();
    });
  };
  WorkItem bulk = MakeTopKItem(HoldingDevice::kManyRows, 8, 2), urgent = MakeTopKItem(1, 8, 2);
  launch(bulk, false, bulk_thread, bulk_done);
  device.held.WaitForNotification();
  launch(urgent, true, urgent_thread, urgent_done);
  EXPECT_TRUE(urgent_done.WaitForNotificationWithTimeout(absl::Seconds(20)));
  EXPECT_FALSE(bulk_done.HasBeenNotified());
  device.go_on.Notify();
  bulk_done.WaitForNotification();
  urgent_done.WaitForNotification();
  EXPECT_OK(bulk.status);
  EXPECT_OK(urgent.status);
  EXPECT_NE(bulk_thread, urgent_thread);
}

TEST_P(DeviceBackendTest, AFaultIsItsItemsOwnAndNamesStepRowAndField) {
  Open();
  HostArena arena;
  WorkItem good = MakeTopKItem(2, 8, 2);
  WorkItem bad = MakeTopKItem(2, 8, 2);
  for (WorkItem* item : {&good, &bad}) item->steps.push_back(item->steps[0]);
  TopKOf(bad, 1).lengths = arena.AddVector({8, 9});
  bad.first_row = 40;
  Run({&bad, &good});
  EXPECT_OK(good.status);
  EXPECT_EQ(good.results.size(), 2u);
  EXPECT_THAT(bad.status, FailsWith(ErrorReason::kLengthOutOfRange, "steps[1].lengths"));
  EXPECT_EQ(GetErrorInfo(bad.status)->row, 41);
  EXPECT_TRUE(bad.results.empty());
  EXPECT_EQ(backend_->stats().faults, 1);
  EXPECT_EQ(backend_->stats().items, 2);
}

TEST_P(DeviceBackendTest, AnItemThatTheDeviceRefusesDoesNotFailItsNeighbours) {
  Open();
  HostArena arena;
  WorkItem good = MakeTopKItem(2, 8, 2);
  WorkItem other = MakeTopKItem(1, 8, 2);
  WorkItem bad = MakeTopKItem(2, 8, 2);
  TopKOf(bad).max_length = -1;  // CheckItem would not let it pass
  Run({&good, &bad, &other});
  EXPECT_OK(good.status);
  EXPECT_OK(other.status);
  EXPECT_THAT(bad.status, FailsWith(ErrorReason::kValueOutOfRange, "max_length"));
}

TEST_P(DeviceBackendTest, ItemsWithoutRowsOrColumnsGiveEmptyOrPaddedOutputs) {
  Open();
  HostArena arena;
  WorkItem no_rows = MakeTopKItem(0, 8, 2);
  WorkItem no_columns = MakeTopKItem(2, 0, 2);
  WorkItem some = MakeTopKItem(1, 1, 2);
  Run({&no_rows, &no_columns, &some});
  ASSERT_OK(no_rows.status);
  EXPECT_EQ(no_rows.results[0].outputs[0].data, "");
  ASSERT_OK(no_columns.status);
  EXPECT_THAT(Int32s(no_columns.results[0].outputs[0]), ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(Int32s(some.results[0].outputs[0]), ElementsAre(0, -1));
  Run({&no_rows});
  EXPECT_OK(no_rows.status);
}

TEST_P(DeviceBackendTest, ItemsThatDoNotFitTogetherRunOnePartAfterAnother) {
  Open({.staging_pool_bytes = 1 << 20});
  std::vector<WorkItem> items;
  std::vector<WorkItem*> pointers;
  for (int i = 0; i < 9; ++i) {
    WorkItem& item = items.emplace_back(MakeTopKItem(1, 60'000, 4));
    // Staged on either device: the CPU cannot read it where it is.
    HostArena arena;
    auto owner = std::make_shared<HostArena>();
    TopKOf(item).scores =
        owner->Add(DType::kFloat32, 1, 60'000, std::vector<float>(60'000, 1.0f), 1);
    TopKOf(item).lengths = owner->AddVector({60'000});
    item.keep_alive = owner;
  }
  for (WorkItem& item : items) pointers.push_back(&item);
  Run(pointers);
  for (const WorkItem& item : items) EXPECT_OK(item.status);
  EXPECT_GT(backend_->stats().launches, 2);
  EXPECT_EQ(backend_->stats().staging_used_bytes, 0);
}

TEST_P(DeviceBackendTest, AnItemLargerThanTheStagingMemoryFailsWithUsedAndLimit) {
  Open({.staging_pool_bytes = 1 << 20});
  HostArena arena;
  WorkItem large = MakeTopKItem(1, 8, 2);
  WorkItem small = MakeTopKItem(1, 8, 2);
  TopKOf(large).scores = arena.Add(DType::kFloat32, 1, 300'000, std::vector<float>(300'000), 2);
  Run({&small, &large});
  EXPECT_OK(small.status);
  EXPECT_THAT(large.status, FailsWith(ErrorReason::kMemoryExhausted, ""));
  EXPECT_EQ(GetErrorInfo(large.status)->limit, "1048576 bytes");
}

TEST_P(DeviceBackendTest, WorkspaceThatIsTooLargeForAllIsTriedForFewer) {
  if (GetParam() == Kind::kCpu) GTEST_SKIP() << "this device needs no workspace";
  Open({.staging_pool_bytes = 1 << 20}, (1 << 20) - 8192);
  std::vector<WorkItem> items;
  std::vector<WorkItem*> pointers;
  for (int i = 0; i < 8; ++i) items.push_back(MakeTopKItem(1, 500, 2));
  for (WorkItem& item : items) pointers.push_back(&item);
  Run(pointers);
  for (const WorkItem& item : items) EXPECT_OK(item.status);
}

TEST_P(DeviceBackendTest, BuffersAreZeroedAndCopiedBothWays) {
  Open();
  auto buffer = backend_->AllocateBuffer(1000);
  ASSERT_OK(buffer);
  std::string bytes(1000, 'x');
  auto* host = reinterpret_cast<std::byte*>(bytes.data());
  ASSERT_OK(backend_->CopyToHost(host, (*buffer)->data(), 1000));
  EXPECT_EQ(bytes, std::string(1000, '\0'));
  bytes.assign(1000, 'y');
  ASSERT_OK(backend_->CopyToDevice((*buffer)->data(), host, 1000));
  buffer->reset();
  buffer = backend_->AllocateBuffer(1000);
  ASSERT_OK(backend_->CopyToHost(host, (*buffer)->data(), 1000));
  EXPECT_EQ(bytes, std::string(1000, '\0'));
  EXPECT_THAT(backend_->AllocateBuffer(2 << 20), FailsWith(ErrorReason::kMemoryExhausted, ""));
}

TEST_P(DeviceBackendTest, APlanResourceIsUsedAndAStaleOneIsRefused) {
  Open();
  HostArena arena;
  std::vector<std::byte> host_plan(PlanBytes(2));
  const std::vector<int32_t> lengths = {8, 7};
  ASSERT_OK(backend_->HostPlan({.k = 2, .columns = 8, .static_threshold = 0}, lengths.data(), 2,
                               host_plan.data()));
  auto plan = *backend_->AllocateBuffer(PlanBytes(2));
  ASSERT_OK(backend_->CopyToDevice(plan->data(), host_plan.data(), PlanBytes(2)));
  WorkItem item = MakeTopKItem(2, 8, 2);
  TopKOf(item).plan = plan->data();
  TopKOf(item).lengths = arena.AddVector(lengths);
  Run({&item});
  ASSERT_OK(item.status);
  PlanHeader header;
  std::memcpy(&header, host_plan.data(), sizeof(header));
  for (int route = 0; route < kRouteCount; ++route) {
    EXPECT_EQ(item.results[0].route_rows[route], header.route_rows[route]);
  }
  TopKOf(item).lengths = arena.AddVector({8, 6});
  Run({&item});
  EXPECT_THAT(item.status, FailsWith(ErrorReason::kPlanStale, "plan"));
  EXPECT_EQ(GetErrorInfo(item.status)->row, 1);
}

TEST_P(DeviceBackendTest, KeysThatNothingWroteShowNothingOfOthers) {
  Open();
  HostArena arena;
  BlockAmaxStep step;
  step.params.skip_at_most = 1;
  step.scores = arena.Add(DType::kFloat32, 2, 16, std::vector<float>(32, 5.0f));
  step.lengths = arena.AddVector({16, 8});
  step.key_columns = 4;
  step.keys = Inline();
  WorkItem item;
  item.steps.emplace_back(step);
  Run({&item});
  ASSERT_OK(item.status);
  std::vector<float> keys(8);
  std::memcpy(keys.data(), item.results[0].outputs[0].data.data(), 32);
  EXPECT_THAT(keys, ElementsAre(5.0f, std::numeric_limits<float>::infinity(), 0, 0, 0, 0, 0, 0));
}

TEST_P(DeviceBackendTest, ACallbackComesFromAnotherThreadAndMayLaunchAgain) {
  Open({.launch_slots = 1});
  WorkItem first = MakeTopKItem(1, 8, 2);
  WorkItem second = MakeTopKItem(1, 8, 2);
  absl::Notification done;
  auto batch = std::make_unique<WorkBatch>();
  batch->items = {&first};
  const auto caller = std::this_thread::get_id();
  backend_->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch> finished) {
    EXPECT_NE(std::this_thread::get_id(), caller);
    finished->items = {&second};
    backend_->Launch(std::move(finished), [&](std::unique_ptr<WorkBatch>) { done.Notify(); });
  });
  done.WaitForNotification();
  EXPECT_OK(second.status);
  backend_->Drain();
}

TEST_P(DeviceBackendTest, LaunchesOfSeveralThreadsAllComplete) {
  Open({.launch_slots = 3});
  constexpr int kLaunches = 200;
  std::vector<WorkItem> items;
  for (int i = 0; i < kLaunches; ++i) items.push_back(MakeTopKItem(1 + i % 3, 32, 4));
  absl::BlockingCounter left(kLaunches);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < kLaunches; i += 4) {
        auto batch = std::make_unique<WorkBatch>();
        batch->items = {&items[i]};
        batch->high_priority = i % 2 == 0;
        backend_->Launch(std::move(batch),
                         [&](std::unique_ptr<WorkBatch>) { left.DecrementCount(); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  left.Wait();
  backend_->Drain();
  for (const WorkItem& item : items) ASSERT_OK(item.status);
  EXPECT_EQ(backend_->stats().items, kLaunches);
  EXPECT_EQ(backend_->stats().staging_used_bytes, 0);
}

TEST_P(DeviceBackendTest, DestructionFinishesWhatWasLaunched) {
  Open();
  WorkItem item = MakeTopKItem(1, 8, 2);
  auto batch = std::make_unique<WorkBatch>();
  batch->items = {&item};
  bool done = false;
  backend_->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch>) { done = true; });
  backend_.reset();
  EXPECT_TRUE(done);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceBackendTest, ::testing::Values(Kind::kCpu, Kind::kDiscrete),
                         [](const auto& info) {
                           return info.param == Kind::kCpu ? "Cpu" : "Discrete";
                         });

}  // namespace
}  // namespace winnow::server
