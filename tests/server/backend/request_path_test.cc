// Once a backend is open, requests ask the device for nothing that it would have to make: no
// memory, no streams, no events.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "server/backend/device_backend.h"
#include "tests/testing/discrete_device.h"
#include "tests/testing/forwarding_device.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"

namespace winnow::server {
namespace {

struct Made {
  std::atomic<int64_t> memories{0}, streams{0}, events{0};
  int64_t total() const { return memories + streams + events; }
};

class CountingDevice final : public testing::ForwardingDevice {
 public:
  CountingDevice(std::unique_ptr<Device> device, Made* made)
      : ForwardingDevice(std::move(device)), made_(*made) {}

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemoryKind kind, int64_t bytes) override {
    ++made_.memories;
    return ForwardingDevice::Allocate(kind, bytes);
  }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(StreamPriority priority) override {
    ++made_.streams;
    return ForwardingDevice::CreateStream(priority);
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    ++made_.events;
    return ForwardingDevice::CreateEvent();
  }

 private:
  Made& made_;
};

// A GPU with WINNOW_TEST_BACKEND=cuda, else a device that behaves like one.
absl::StatusOr<std::unique_ptr<Device>> DeviceUnderTest() {
  const char* backend = std::getenv("WINNOW_TEST_BACKEND");
  if (backend != nullptr && absl::string_view(backend) == "cuda") return OpenCudaDevice({});
  return testing::MakeDiscreteDevice(1 << 20);
}

void LaunchAndWait(Backend& backend, WorkItem& item) {
  auto batch = std::make_unique<WorkBatch>();
  batch->items.push_back(&item);
  absl::Notification done;
  backend.Launch(std::move(batch), [&](std::unique_ptr<WorkBatch>) { done.Notify(); });
  done.WaitForNotification();
}

TEST(RequestPathTest, LaunchesAndBuffersMakeNothingOnTheDevice) {
  auto device = DeviceUnderTest();
  ASSERT_OK(device);
  Made made;
  auto backend = DeviceBackend::Create(
      std::make_unique<CountingDevice>(*std::move(device), &made),
      {.buffer_pool_bytes = int64_t{16} << 20, .staging_pool_bytes = int64_t{16} << 20});
  ASSERT_OK(backend);
  const int64_t at_start = made.total();
  EXPECT_GE(made.memories, 3) << "buffers, staging and its pinned mirror";
  for (int i = 0; i < 50; ++i) {
    WorkItem item = MakeTopKItem(2, 64, 4);
    LaunchAndWait(**backend, item);
    ASSERT_OK(item.status);
    ASSERT_OK((*backend)->AllocateBuffer(4096));
  }
  EXPECT_EQ(made.total(), at_start);
}

}  // namespace
}  // namespace winnow::server
