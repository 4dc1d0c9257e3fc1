// Items with random fields spoilt: CheckItem refuses them with a reason and a field, or the backend
// runs them like the reference does. Nothing crashes, hangs or reads what is not the request's.
//
// WINNOW_SEED repeats a run; WINNOW_ITEMS sets how many items (default 5,000).

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "absl/synchronization/notification.h"
#include "server/backend/device_backend.h"
#include "server/backend/work_key.h"
#include "server/backend/work_shape.h"
#include "server/base/checked_math.h"
#include "tests/server/backend/random_items.h"
#include "tests/server/backend/reference_item.h"
#include "tests/testing/discrete_device.h"
#include "tests/testing/random.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using winnow::testing::Random;

int64_t OddNumber(Random& random) {
  static constexpr int64_t kOdd[] = {-1,
                                     0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     8,
                                     64,
                                     2048,
                                     2049,
                                     65536,
                                     65537,
                                     (1 << 21) + 1,
                                     std::numeric_limits<int32_t>::max(),
                                     std::numeric_limits<int32_t>::min(),
                                     int64_t{1} << 40,
                                     int64_t{1} << 61,
                                     std::numeric_limits<int64_t>::max(),
                                     std::numeric_limits<int64_t>::min()};
  return kOdd[random.Below(std::size(kOdd))];
}
int32_t OddInt(Random& random) { return static_cast<int32_t>(OddNumber(random)); }

int64_t Extent(const TensorRef& tensor) {
  const auto elements = CheckedExtent(tensor.rows, tensor.columns, RowStride(tensor));
  return SaturatingMultiply(elements.value_or(std::numeric_limits<int64_t>::max()),
                            std::max<int64_t>(SizeOf(tensor.dtype), 1));
}

bool IsOutOfRange(const TensorRef& tensor) {
  return tensor.rows > kMaxRows || tensor.columns > kMaxColumns || tensor.rows < 0 ||
         tensor.columns < 0 || DeclaredRowStride(tensor) < tensor.columns;
}

// A request's memory was checked against its declared shape before: what does not fit it keeps its
// shape, unless CheckItem must refuse the shape without looking at the memory.
void SpoilTensor(TensorRef& tensor, Random& random) {
  TensorRef spoilt = tensor;
  switch (random.Below(7)) {
    case 0:
      spoilt.rows = random.OneIn(2) ? OddNumber(random) : random.Below(10);
      break;
    case 1:
      spoilt.columns = random.OneIn(2) ? OddNumber(random) : random.Below(300);
      break;
    case 2:
      spoilt.row_stride = OddNumber(random);
      break;
    case 3:
      spoilt.dtype = static_cast<DType>(random.Between(0, 4));
      break;
    case 4:
      spoilt.source = TensorRef::Source::kStep;
      spoilt.step = random.OneIn(4) ? OddInt(random) : static_cast<int32_t>(random.Below(4));
      spoilt.output = static_cast<OutputName>(random.Between(-1, 10));
      break;
    case 5:
      spoilt = {};
      break;
    default:
      spoilt.data = nullptr;
      break;
  }
  const bool reads_memory = spoilt.source == TensorRef::Source::kHost && spoilt.data != nullptr;
  // A shape spoilt before says nothing of the memory behind it.
  const bool fits = !IsOutOfRange(tensor) && Extent(spoilt) <= Extent(tensor);
  // A page table may have more rows than a request, so its rows are never out of range.
  if (!reads_memory || fits || (IsOutOfRange(spoilt) && spoilt.rows == tensor.rows)) {
    tensor = spoilt;
  }
}

void SpoilOutput(OutputRef& output, Random& random) {
  static constexpr OutputRef::Placement kPlacements[] = {
      OutputRef::Placement::kAbsent, OutputRef::Placement::kInline, OutputRef::Placement::kKeep};
  output = {.placement = kPlacements[random.Below(3)]};
}

void SpoilPages(PageTableRef& pages, Random& random) {
  if (random.OneIn(2)) pages.page_size = OddInt(random);
  if (random.OneIn(2)) pages.pool_pages = OddInt(random);
}

void SpoilParams(TopKStep& step, Random& random) {
  if (random.OneIn(3)) step.params.k = OddInt(random);
  if (random.OneIn(3)) step.params.order = static_cast<Order>(random.Between(-1, 3));
  if (random.OneIn(3)) step.params.dtype = static_cast<DType>(random.Between(0, 4));
  if (random.OneIn(3)) step.max_length = OddInt(random);
  step.has_static_threshold = random.OneIn(2);
  step.static_threshold = OddInt(random);
  if (random.OneIn(2)) SpoilPages(step.pages, random);
}
void SpoilParams(BlockAmaxStep& step, Random& random) {
  if (random.OneIn(2)) step.params.block_size = OddInt(random);
  if (random.OneIn(2)) step.params.skip_at_most = OddInt(random);
  if (random.OneIn(2)) step.key_columns = static_cast<int32_t>(random.Between(-1, 50));
}
void SpoilParams(SortBlocksStep& step, Random& random) {
  if (random.OneIn(2)) step.params.block_size = OddInt(random);
  if (random.OneIn(2)) step.params.width = OddInt(random);
  if (random.OneIn(2)) SpoilPages(step.pages, random);
}
void SpoilParams(PublishStep& step, Random& random) {
  if (random.OneIn(3)) step.params.k = OddInt(random);
  if (random.OneIn(3)) step.params.k_blocks = OddInt(random);
  if (random.OneIn(3)) step.params.block_size = OddInt(random);
  if (random.OneIn(2)) SpoilPages(step.pages, random);
}

void Spoil(WorkItem& item, Random& random) {
  Step& step = item.steps[random.Below(item.steps.size())];
  if (random.OneIn(3)) {
    std::visit([&](auto& operation) { SpoilParams(operation, random); }, step);
    return;
  }
  ForEachInput(step, [&](absl::string_view, TensorRef& tensor) {
    if (random.OneIn(5)) SpoilTensor(tensor, random);
  });
  ForEachOutput(step, [&](OutputName, OutputRef& output) {
    if (random.OneIn(8)) SpoilOutput(output, random);
  });
}

class MutatedItemsTest : public ::testing::TestWithParam<bool> {
 protected:
  void Run(WorkItem& item) {
    auto batch = std::make_unique<WorkBatch>();
    batch->items = {&item};
    absl::Notification done;
    backend_->Launch(std::move(batch), [&](std::unique_ptr<WorkBatch>) { done.Notify(); });
    done.WaitForNotification();
  }

  void ExpectRefused(const absl::Status& status) {
    const auto info = GetErrorInfo(status);
    ASSERT_TRUE(info.has_value()) << status;
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(info->reason, ErrorReason::kInternal) << status;
    EXPECT_NE(info->field, "") << status;
  }

  std::unique_ptr<Backend> backend_ = *DeviceBackend::Create(
      GetParam() ? winnow::testing::MakeDiscreteDevice() : *OpenCpuDevice({.threads = 2}),
      {.launch_slots = 1, .buffer_pool_bytes = 1 << 20, .staging_pool_bytes = 64 << 20});
};

TEST_P(MutatedItemsTest, AreRefusedWithAReasonOrGiveTheReferencesResults) {
  Random random(winnow::testing::SeedFromEnvironment("WINNOW_SEED"));
  const char* text = std::getenv("WINNOW_ITEMS");
  const int count = text == nullptr ? 5000 : std::atoi(text);
  int refused = 0, ran = 0, good = 0;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    SCOPED_TRACE(::testing::Message() << "item " << i);
    RandomItemMaker maker(&random, nullptr, random.OneIn(2));
    WorkItem item = maker.Make();
    for (int64_t times = random.Between(1, 3); times > 0; --times) Spoil(item, random);
    BatchKey(item);
    EXPECT_GE(CostOf(item).input_bytes, 0);
    const absl::Status checked = CheckItem(item);
    if (!checked.ok()) {
      ++refused;
      ExpectRefused(checked);
      continue;
    }
    ++ran;
    const ReferenceResult expected = RunReference(item, nullptr);
    Run(item);
    ASSERT_EQ(item.status.code(), expected.status.code()) << item.status << expected.status;
    if (!item.status.ok()) continue;
    ++good;
    for (size_t step = 0; step < item.results.size(); ++step) {
      for (const OutputTensor& tensor : item.results[step].outputs) {
        ASSERT_EQ(Canonical(item, step, tensor.name, tensor.data),
                  Canonical(item, step, tensor.name, expected.outputs[step].at(tensor.name)));
      }
    }
  }
  std::cout << refused << " refused, " << ran << " ran, " << good << " without a fault"
            << std::endl;
  if (count >= 1000) {
    EXPECT_GT(refused, count / 10);
    EXPECT_GT(good, count / 20);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MutatedItemsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Discrete" : "Cpu"; });

}  // namespace
}  // namespace winnow::server
