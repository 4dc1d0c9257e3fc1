#include "server/backend/work_key.h"

#include <gtest/gtest.h>

#include <limits>

#include "server/backend/work_shape.h"
#include "tests/testing/work_items.h"

namespace winnow::server {
namespace {

TopKStep& TopKOf(WorkItem& item) { return std::get<TopKStep>(item.steps[0]); }

TEST(BatchKeyTest, ShapesAndPlacementsDoNotSeparateItems) {
  WorkItem small = MakeTopKItem(1, 10, 4);
  WorkItem large = MakeTopKItem(7, 999, 4);
  std::vector<int32_t> place(28);
  TopKOf(large).indices = ToDevice(place.data());
  EXPECT_EQ(BatchKey(small), BatchKey(large));
}

TEST(BatchKeyTest, ParametersOutputsAndInputsSeparateItems) {
  WorkItem base = MakeTopKItem(1, 10, 4);
  HostArena arena;
  std::vector<WorkItem> others;
  for (int i = 0; i < 7; ++i) others.push_back(MakeTopKItem(1, 10, 4));
  TopKOf(others[0]).params.k = 5;
  TopKOf(others[1]).params.order = Order::kScore;
  TopKOf(others[2]).params.deterministic = true;
  TopKOf(others[3]).params.dtype = DType::kBfloat16;
  TopKOf(others[4]).values = Inline();
  TopKOf(others[5]).row_starts = arena.AddVector({0});
  others[6].steps.push_back(others[6].steps[0]);
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(BatchKey(base), BatchKey(others[i])) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_NE(BatchKey(others[i]), BatchKey(others[j])) << i << j;
  }
}

TEST(BatchKeyTest, ReferencesBetweenStepsSeparateItems) {
  const auto chain = [](int32_t source) {
    WorkItem item = MakeTopKItem(1, 10, 4);
    item.steps.push_back(item.steps[0]);
    item.steps.push_back(item.steps[0]);
    std::get<TopKStep>(item.steps[2]).scores =
        FromStep(source, OutputName::kValues, DType::kFloat32, 1, 4);
    return BatchKey(item);
  };
  EXPECT_EQ(chain(0), chain(0));
  EXPECT_NE(chain(0), chain(1));
}

TEST(CostOfTest, CountsRowsInputsAndHostMemory) {
  const WorkCost cost = CostOf(MakeTopKItem(3, 100, 4));
  EXPECT_EQ(cost.rows, 3);
  EXPECT_EQ(cost.input_bytes, 3 * 100 * 4 + 3 * 4);
  EXPECT_EQ(cost.host_bytes, 3 * 100 * 4 + 3 * 4 + 3 * 4 * 4);
}

TEST(CostOfTest, MemoryThatTwoStepsShareIsHeldOnce) {
  WorkItem item = MakeTopKItem(3, 100, 4);
  const WorkCost one = CostOf(item);
  item.steps.push_back(item.steps[0]);
  const WorkCost two = CostOf(item);
  EXPECT_EQ(two.input_bytes, 2 * one.input_bytes);
  EXPECT_EQ(two.host_bytes, one.host_bytes + 3 * 4 * 4);
}

TEST(CostOfTest, ImpossibleShapesGiveTheLargestCostNotANegativeOne) {
  WorkItem item = MakeTopKItem(1, 10, 4);
  TopKOf(item).scores.rows = int64_t{1} << 40;
  TopKOf(item).scores.columns = int64_t{1} << 40;
  EXPECT_EQ(CostOf(item).input_bytes, std::numeric_limits<int64_t>::max());
}

TEST(ShapeOfTest, OutputsHaveTheShapesOfTheirOperation) {
  PublishStep publish;
  publish.params.k = 5;
  publish.params.k_blocks = 6;
  publish.scores.rows = 3;
  const Step step = publish;
  EXPECT_EQ(ShapeOf(step, OutputName::kSlots).columns, 5);
  EXPECT_EQ(ShapeOf(step, OutputName::kBlockSlots).columns, 6);
  EXPECT_EQ(ShapeOf(step, OutputName::kCandidateLengths).columns, 1);
  EXPECT_EQ(ShapeOf(step, OutputName::kSlots).rows, 3);
  EXPECT_EQ(ShapeOf(step, OutputName::kKeys).dtype, DType::kUnspecified);
}

TEST(ShapeOfTest, ValuesHaveTheTypeOfTheScores) {
  WorkItem item = MakeTopKItem(2, 10, 4);
  TopKOf(item).params.dtype = DType::kBfloat16;
  EXPECT_EQ(ShapeOf(item.steps[0], OutputName::kValues).bytes(), 2 * 4 * 2);
  EXPECT_EQ(ShapeOf(item.steps[0], OutputName::kIndices).bytes(), 2 * 4 * 4);
}

}  // namespace
}  // namespace winnow::server
