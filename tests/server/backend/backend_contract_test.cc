// Random batches on every backend give what the reference gives, item by item and bit for bit.
//
// WINNOW_SEED repeats a run; WINNOW_BATCHES sets how many batches (default 300).

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/synchronization/notification.h"
#include "server/backend/device_backend.h"
#include "server/backend/work_key.h"
#include "server/backend/work_shape.h"
#include "tests/server/backend/random_items.h"
#include "tests/server/backend/reference_item.h"
#include "tests/testing/discrete_device.h"
#include "tests/testing/random.h"
#include "tests/testing/required_device.h"
#include "tests/testing/sharing_device.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using winnow::testing::Random;

enum class Kind { kCpu, kDiscrete, kSharing, kCuda };

class BackendContractTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    auto device = OpenDevice();
    if (!device.ok() && GetParam() == Kind::kCuda && !winnow::testing::DeviceIsRequired()) {
      GTEST_SKIP() << device.status().message();
    }
    ASSERT_OK(device);
    auto backend = DeviceBackend::Create(
        *std::move(device), {.buffer_pool_bytes = 64 << 20, .staging_pool_bytes = 8 << 20});
    ASSERT_OK(backend);
    backend_ = *std::move(backend);
  }

  static absl::StatusOr<std::unique_ptr<Device>> OpenDevice() {
    switch (GetParam()) {
      case Kind::kCpu:
        return OpenCpuDevice({.threads = 2});
      case Kind::kDiscrete:
        return winnow::testing::MakeDiscreteDevice(10'000);
      case Kind::kSharing: {
        static auto* const sharing = new winnow::testing::FakeSharing;
        return std::make_unique<winnow::testing::SharingDevice>(sharing);
      }
      case Kind::kCuda:
        break;
    }
    return OpenCudaDevice({});
  }

  void Run(std::vector<WorkItem>& items) {
    auto batch = std::make_unique<WorkBatch>();
    for (WorkItem& item : items) batch->items.push_back(&item);
    absl::Notification done;
    backend_->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch>) { done.Notify(); });
    done.WaitForNotification();
  }

  // The bytes of an output, wherever it went, without gaps; nullopt for one that was kept.
  std::optional<std::string> Output(const WorkItem& item, size_t step, OutputName name,
                                    const OutputRef& output) {
    const OutputShape shape = ShapeOf(item.steps[step], name);
    if (output.placement == OutputRef::Placement::kInline) {
      for (const OutputTensor& tensor : item.results[step].outputs) {
        if (tensor.name == name) return tensor.data;
      }
      ADD_FAILURE() << "output " << static_cast<int>(name) << " is missing";
    }
    const bool on_device = output.placement == OutputRef::Placement::kDevice;
    if (!on_device && output.placement != OutputRef::Placement::kHost) return std::nullopt;
    const int64_t row_bytes = shape.columns * SizeOf(shape.dtype);
    const int64_t stride_bytes = RowStride(output, shape) * SizeOf(shape.dtype);
    std::string bytes(shape.bytes(), '\0');
    for (int64_t row = 0; row < shape.rows; ++row) {
      auto* to = reinterpret_cast<std::byte*>(bytes.data()) + row * row_bytes;
      const std::byte* from = output.data + row * stride_bytes;
      if (on_device) {
        EXPECT_OK(backend_->CopyToHost(to, from, row_bytes));
      } else {
        std::memcpy(to, from, row_bytes);
      }
    }
    return bytes;
  }

  void ExpectEqual(const WorkItem& item, const ReferenceResult& expected) {
    if (!expected.status.ok()) {
      EXPECT_EQ(item.status.code(), expected.status.code()) << item.status;
      // Of several faults a GPU reports whichever its blocks find first.
      if (GetParam() != Kind::kCuda) {
        EXPECT_EQ(item.status.message(), expected.status.message());
      }
      return;
    }
    ASSERT_OK(item.status);
    for (size_t step = 0; step < item.steps.size(); ++step) {
      SCOPED_TRACE(::testing::Message() << "step " << step);
      EXPECT_EQ(item.results[step].negative_rows, expected.negative_rows[step]);
      ForEachOutput(item.steps[step], [&](OutputName name, const OutputRef& output) {
        if (!output.wanted()) return;
        const auto bytes = Output(item, step, name, output);
        if (bytes.has_value()) {
          EXPECT_EQ(Canonical(item, step, name, *bytes),
                    Canonical(item, step, name, expected.outputs[step].at(name)))
              << static_cast<int>(name);
        }
      });
    }
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(BackendContractTest, RandomBatchesEqualTheReference) {
  Random random(winnow::testing::SeedFromEnvironment("WINNOW_SEED"));
  const char* count = std::getenv("WINNOW_BATCHES");
  const int batches = count == nullptr ? 300 : std::atoi(count);
  int faults = 0, refused = 0, good = 0;
  for (int batch = 0; batch < batches && !HasFailure(); ++batch) {
    SCOPED_TRACE(::testing::Message() << "batch " << batch);
    RandomItemMaker maker(&random, backend_.get(), random.OneIn(2));
    std::vector<WorkItem> items;
    std::vector<ReferenceResult> expected;
    for (int64_t i = random.Between(1, 6); i > 0; --i) {
      WorkItem item = maker.Make();
      ReferenceResult reference = RunReference(item, backend_.get());
      const absl::Status checked = CheckItem(item);
      if (!checked.ok()) {
        // Known before the launch. Page ids are the only thing that the host is stricter about.
        ++refused;
        if (GetErrorInfo(checked)->reason != ErrorReason::kPageIdOutOfRange) {
          EXPECT_FALSE(reference.status.ok()) << checked;
        }
        continue;
      }
      (reference.status.ok() ? good : faults)++;
      items.push_back(std::move(item));
      expected.push_back(std::move(reference));
      ASSERT_EQ(BatchKey(items.back()), BatchKey(items.front()));
    }
    Run(items);
    for (size_t i = 0; i < items.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "item " << i);
      ExpectEqual(items[i], expected[i]);
    }
  }
  EXPECT_EQ(backend_->stats().staging_used_bytes, 0);
  EXPECT_EQ(backend_->stats().faults, faults);
  if (batches >= 100) {
    EXPECT_GT(good, 0);
    EXPECT_GT(faults, 0);
    EXPECT_GT(refused, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, BackendContractTest,
                         ::testing::Values(Kind::kCpu, Kind::kDiscrete, Kind::kSharing,
                                           Kind::kCuda),
                         [](const auto& info) {
                           if (info.param == Kind::kCpu) return "Cpu";
                           if (info.param == Kind::kSharing) return "Sharing";
                           return info.param == Kind::kDiscrete ? "Discrete" : "Cuda";
                         });

}  // namespace
}  // namespace winnow::server
