// What CheckItem lets pass, and items as a whole. Malformed ones:
// check_item_{top_k,blocks}_test.cc.

#include <gtest/gtest.h>

#include "server/backend/work_key.h"
#include "tests/server/backend/check_item_cases.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using enum ErrorReason;

TEST(CheckItemTest, TheRowAtFaultIsNamedAndCountsFromTheFirstRowOfASlice) {
  Inputs inputs;
  TopKStep step = inputs.TopK();
  step.lengths = inputs.arena.AddVector({64, 65});
  WorkItem item;
  item.steps.emplace_back(step);
  item.first_row = 100;
  const auto info = GetErrorInfo(CheckItem(item));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->row, 101);
  EXPECT_EQ(info->value, "65");
  EXPECT_EQ(info->limit, "at most 64");
}

TEST(CheckItemTest, MisalignedHostInputsAreReadWhereTheyLie) {
  Inputs inputs;
  TopKStep step = inputs.TopK();
  step.lengths = inputs.arena.AddVector({64, 65}, 1);
  EXPECT_THAT(Check({step}), FailsWith(kLengthOutOfRange, "lengths"));
  step.lengths = inputs.arena.AddVector({64, 64}, 3);
  EXPECT_OK(Check({step}));
}

TEST(CheckItemTest, NothingIsWrongInAnEmptyRow) {
  Inputs inputs;
  TopKStep step = inputs.TopK();
  step.lengths = inputs.arena.AddVector({0, -4});
  step.row_starts = inputs.arena.AddVector({-5, 1000});
  step.index_offsets = inputs.arena.AddVector({INT32_MAX, INT32_MAX});
  step.pages.rows = inputs.arena.AddVector({-1, 99});
  step.pages.pool_pages = 1;
  EXPECT_OK(Check({step}));
}

TEST(CheckItemTest, EntriesPastARowsLastPageAreNotLookedAt) {
  Inputs inputs;
  TopKStep step = inputs.TopK();
  step.pages.table =
      inputs.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{1, 1, 1, 1, 1, -7, -7, -7});
  EXPECT_OK(Check({step}));
}

TEST(CheckItemTest, ShapesWithoutRowsOrColumnsAreFine) {
  Inputs inputs;
  TopKStep step = inputs.TopK();
  step.scores = inputs.arena.Add(DType::kFloat32, 2, 0, std::vector<float>{});
  step.lengths = inputs.arena.AddVector({0, -1});
  EXPECT_OK(Check({step}));
  step.scores.rows = step.lengths.rows = step.pages.table.rows = 0;
  EXPECT_OK(Check({step}));
}

TEST(CheckItemTest, TheStrideOfASingleRowMayBeAnything) {
  Inputs inputs;
  TopKStep step = inputs.TopK();
  step.lengths = inputs.arena.AddVector({64});
  step.scores.rows = step.pages.table.rows = 1;
  step.scores.row_stride = step.pages.table.row_stride = std::numeric_limits<int64_t>::max();
  EXPECT_OK(Check({step}));
  step.scores.row_stride = 63;
  EXPECT_THAT(Check({step}), FailsWith(kStrideTooSmall, "scores.row_stride"));
}

TEST(CheckItemTest, OutputsMayInterleaveAsColumnsOfOneMatrix) {
  Inputs inputs;
  TopKStep step = inputs.TopK();
  step.indices = ToDevice(inputs.device.data(), 16);
  step.slots = ToDevice(inputs.device.data() + 8, 16);
  EXPECT_OK(Check({step}));
  step.slots = ToDevice(inputs.device.data() + 9, 16);
  EXPECT_THAT(Check({step}), FailsWith(kOutputsOverlap, "slots"));
}

TEST(CheckItemTest, BlocksMayBeSortedInPlace) {
  Inputs inputs;
  SortBlocksStep step = inputs.Sort();
  step.blocks.source = TensorRef::Source::kDevice;
  step.blocks.data = reinterpret_cast<std::byte*>(inputs.device.data());
  step.blocks_out = ToDevice(inputs.device.data());
  EXPECT_OK(Check({step}));
  step.blocks_out = ToDevice(inputs.device.data() + 1);
  EXPECT_THAT(Check({step}), FailsWith(kOutputsOverlap, "out_blocks"));
}

TEST(CheckItemTest, AChainMayUseEarlierOutputs) {
  Inputs inputs;
  BlockAmaxStep amax = inputs.Amax();
  amax.keys = Keep();
  amax.block_counts = Keep();
  TopKStep select = inputs.TopK();
  select.scores = FromStep(0, OutputName::kKeys, DType::kFloat32, 2, 8);
  select.lengths = FromStep(0, OutputName::kBlockCounts, DType::kInt32, 2, 1);
  select.slots = {};
  select.pages = {};
  EXPECT_OK(Check({amax, select}));
  select.scores.columns = 9;
  EXPECT_THAT(Check({amax, select}), FailsWith(kStepReferenceInvalid, "steps[1].scores"));
  select.scores.columns = 8;
  select.scores.dtype = DType::kBfloat16;
  select.params.dtype = DType::kBfloat16;
  EXPECT_THAT(Check({amax, select}), FailsWith(kStepReferenceInvalid, "steps[1].scores"));
}

TEST(CheckItemTest, ReferencesToLaterStepsOrMissingOutputsAreRefused) {
  Inputs inputs;
  TopKStep select = inputs.TopK();
  for (const int32_t step : {-1, 1, 2, INT32_MAX}) {
    select.lengths = FromStep(step, OutputName::kBlockCounts, DType::kInt32, 2, 1);
    EXPECT_THAT(Check({inputs.Amax(), select}),
                FailsWith(kStepReferenceInvalid, "steps[1].lengths.step_output.step_index"));
  }
  for (const auto output : {OutputName::kNone, OutputName::kBlockCounts, OutputName::kSlots,
                            static_cast<OutputName>(77)}) {
    select.lengths = FromStep(0, output, DType::kInt32, 2, 1);
    EXPECT_THAT(Check({inputs.Amax(), select}),
                FailsWith(kStepReferenceInvalid, "steps[1].lengths.step_output.output"));
  }
}

TEST(CheckItemTest, AnItemHasOneToSixtyFourSteps) {
  Inputs inputs;
  EXPECT_THAT(Check({}), FailsWith(kValueOutOfRange, "steps"));
  EXPECT_OK(Check(std::vector<Step>(64, inputs.TopK())));
  EXPECT_THAT(Check(std::vector<Step>(65, inputs.TopK())), FailsWith(kValueOutOfRange, "steps"));
}

}  // namespace
}  // namespace winnow::server
