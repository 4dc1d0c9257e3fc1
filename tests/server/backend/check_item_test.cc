// Malformed items by operation: each has one thing wrong, and the error names it.

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "server/backend/work_key.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using enum ErrorReason;

constexpr int64_t kHuge = int64_t{1} << 61;

// Two rows of everything.
struct Inputs {
  HostArena arena;
  std::vector<int32_t> device = std::vector<int32_t>(4096);

  TensorRef scores = arena.Add(DType::kFloat32, 2, 64, std::vector<float>(128, 1.5f));
  TensorRef lengths = arena.AddVector({64, 10});
  PageTableRef pages{.table = arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>(8, 3)),
                     .page_size = 16,
                     .pool_pages = 10};

  TopKStep TopK() {
    TopKStep step;
    step.params.k = 8;
    step.scores = scores;
    step.lengths = lengths;
    step.pages = pages;
    step.slots = Inline();
    step.indices = Inline();
    return step;
  }
  BlockAmaxStep Amax() {
    BlockAmaxStep step;
    step.scores = scores;
    step.lengths = lengths;
    step.key_columns = 8;
    step.keys = Inline();
    return step;
  }
  SortBlocksStep Sort() {
    SortBlocksStep step;
    step.params.width = 4;
    step.blocks = arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{7, -1, 3, 3, 0, 1, -1, -1});
    step.lengths = lengths;
    step.pages = pages;
    step.blocks_out = Inline();
    step.block_slots = Inline();
    return step;
  }
  PublishStep Publish() {
    PublishStep step;
    step.params.k = 8;
    step.params.k_blocks = 4;
    step.scores = scores;
    step.lengths = lengths;
    step.pages = pages;
    step.slots = Inline();
    step.block_slots = Inline();
    return step;
  }
};

absl::Status Check(std::vector<Step> steps) {
  WorkItem item;
  item.steps = std::move(steps);
  return CheckItem(item);
}

template <typename StepT>
struct BadCase {
  const char* what;
  ErrorReason reason;
  const char* field;
  std::function<void(StepT&, Inputs&)> spoil;
};

template <typename StepT, typename Make>
void ExpectRefused(Make make, const std::vector<BadCase<StepT>>& cases) {
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.what);
    Inputs inputs;
    StepT step = (inputs.*make)();
    ASSERT_OK(Check({step}));
    bad.spoil(step, inputs);
    EXPECT_THAT(Check({step}), FailsWith(bad.reason, bad.field));
  }
}

TEST(CheckItemTest, MalformedTopKIsRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<TopKStep>>;
  ExpectRefused<TopKStep>(
      &Inputs::TopK,
      Case{
          {"k 0", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = 0; }},
          {"k negative", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = -1; }},
          {"k too large", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = 2049; }},
          {"order", kEnumUnknown, "order",
           [](auto& s, auto&) { s.params.order = static_cast<Order>(7); }},
          {"no scores", kFieldMissing, "scores", [](auto& s, auto&) { s.scores = {}; }},
          {"int32 scores", kDtypeUnsupported, "scores.data_type",
           [](auto& s, auto&) { s.scores.dtype = DType::kInt32; }},
          {"unknown dtype", kDtypeUnsupported, "scores.data_type",
           [](auto& s, auto&) { s.scores.dtype = static_cast<DType>(99); }},
          {"another dtype", kFieldsConflict, "scores.data_type",
           [](auto& s, auto&) { s.params.dtype = DType::kBfloat16; }},
          {"negative rows", kShapeOutOfRange, "scores.row_count",
           [](auto& s, auto&) { s.scores.rows = -1; }},
          {"rows", kShapeOutOfRange, "scores.row_count",
           [](auto& s, auto&) { s.scores.rows = 65537; }},
          {"columns", kShapeOutOfRange, "scores.column_count",
           [](auto& s, auto&) { s.scores.columns = (1 << 21) + 1; }},
          {"near 2^63", kShapeOutOfRange, "scores.row_count",
           [](auto& s, auto&) { s.scores.rows = std::numeric_limits<int64_t>::max(); }},
          {"stride small", kStrideTooSmall, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = 63; }},
          {"stride negative", kStrideTooSmall, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = -64; }},
          {"stride overflows", kSizeOverflow, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = kHuge; }},
          {"stride largest", kSizeOverflow, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = std::numeric_limits<int64_t>::max(); }},
          {"no data", kFieldMissing, "scores", [](auto& s, auto&) { s.scores.data = nullptr; }},
          {"misaligned device memory", kAlignmentInvalid, "scores",
           [](auto& s, auto& in) {
             s.scores.source = TensorRef::Source::kDevice;
             s.scores.data = reinterpret_cast<std::byte*>(in.device.data()) + 2;
           }},
          {"no lengths", kFieldMissing, "lengths", [](auto& s, auto&) { s.lengths = {}; }},
          {"float lengths", kDtypeUnsupported, "lengths.data_type",
           [](auto& s, auto&) { s.lengths.dtype = DType::kFloat32; }},
          {"few lengths", kShapeMismatch, "lengths.row_count",
           [](auto& s, auto&) { s.lengths.rows = 1; }},
          {"wide lengths", kShapeMismatch, "lengths.column_count",
           [](auto& s, auto&) { s.lengths.columns = 2; }},
          {"length too large", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({64, 65});
           }},
          {"length largest", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({INT32_MAX, 0});
           }},
          {"start and length", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({1, 0});
           }},
          {"start negative", kRowStartOutOfRange, "row_starts",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({0, -1});
           }},
          {"start past the columns", kRowStartOutOfRange, "row_starts",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({0, 65});
           }},
          {"starts for other rows", kShapeMismatch, "row_starts.row_count",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({0, 0, 0});
           }},
          {"offset", kIndexOutOfRange, "index_offsets",
           [](auto& s, auto& in) {
             s.index_offsets = in.arena.AddVector({INT32_MAX - 62, 0});
           }},
          {"no table", kFieldMissing, "page_table", [](auto& s, auto&) { s.pages = {}; }},
          {"table without slots", kFieldsConflict, "page_table",
           [](auto& s, auto&) { s.slots = {}; }},
          {"page size 3", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 3; }},
          {"page size 0", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 0; }},
          {"page size negative", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = INT32_MIN; }},
          {"page size large", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 1 << 21; }},
          {"pool negative", kValueOutOfRange, "page_table.pool_page_count",
           [](auto& s, auto&) { s.pages.pool_pages = -1; }},
          {"table short", kShapeMismatch, "page_table.table.row_count",
           [](auto& s, auto&) { s.pages.table.rows = 1; }},
          {"table narrow", kPageTableTooNarrow, "page_table",
           [](auto& s, auto&) { s.pages.page_size = 8; }},
          {"table without columns", kShapeOutOfRange, "page_table.table.column_count",
           [](auto& s, auto&) { s.pages.table.columns = 0; }},
          {"table row", kPageTableRowOutOfRange, "page_table_rows",
           [](auto& s, auto& in) {
             s.pages.rows = in.arena.AddVector({0, 2});
           }},
          {"table row negative", kPageTableRowOutOfRange, "page_table_rows",
           [](auto& s, auto& in) {
             s.pages.rows = in.arena.AddVector({-1, 0});
           }},
          {"page id past the pool", kPageIdOutOfRange, "page_table",
           [](auto& s, auto&) { s.pages.pool_pages = 3; }},
          {"page id negative", kPageIdOutOfRange, "page_table",
           [](auto& s, auto& in) {
             s.pages.table =
                 in.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{0, 0, 0, -1, 0, 0, 0, 0});
           }},
          {"slot past int32", kPageIdOutOfRange, "page_table",
           [](auto& s, auto& in) {
             s.pages.pool_pages = 0;
             s.pages.table = in.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>(8, 1 << 27));
           }},
          {"no output", kFieldMissing, "indices",
           [](auto& s, auto&) {
             s.indices = {};
             s.slots = {};
             s.pages = {};
           }},
          {"output stride", kStrideTooSmall, "indices.row_stride",
           [](auto& s, auto& in) { s.indices = ToDevice(in.device.data(), 7); }},
          {"output nowhere", kFieldMissing, "indices",
           [](auto& s, auto&) { s.indices = ToDevice(nullptr); }},
          {"outputs overlap", kOutputsOverlap, "slots",
           [](auto& s, auto& in) {
             s.indices = ToDevice(in.device.data());
             s.slots = ToDevice(in.device.data() + 15);
           }},
          {"output over an input", kOutputsOverlap, "indices",
           [](auto& s, auto& in) {
             s.scores.source = TensorRef::Source::kDevice;
             s.scores.data = reinterpret_cast<std::byte*>(in.device.data());
             s.indices = ToDevice(in.device.data() + 127);
           }},
          {"reference in the first step", kStepReferenceInvalid, "scores.step_output.step_index",
           [](auto& s, auto&) {
             s.scores = FromStep(0, OutputName::kValues, DType::kFloat32, 2, 64);
           }},
          {"no columns, lengths unseen", kShapeOutOfRange, "scores.column_count",
           [](auto& s, auto& in) {
             s.scores.columns = 0;
             s.lengths.source = TensorRef::Source::kDevice;
           }},
          {"hint negative", kValueOutOfRange, "max_length",
           [](auto& s, auto&) { s.max_length = -1; }},
      });
}

TEST(CheckItemTest, MalformedBlockAmaxIsRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<BlockAmaxStep>>;
  ExpectRefused<BlockAmaxStep>(
      &Inputs::Amax,
      Case{
          {"block size 1", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 1; }},
          {"block size 12", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 12; }},
          {"block size 256", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 256; }},
          {"skip", kValueOutOfRange, "skip_at_most",
           [](auto& s, auto&) { s.params.skip_at_most = -1; }},
          {"keys narrow", kKeysTooNarrow, "keys", [](auto& s, auto&) { s.key_columns = 7; }},
          {"keys without columns", kShapeOutOfRange, "key_column_count",
           [](auto& s, auto&) { s.key_columns = 0; }},
          {"no keys", kFieldMissing, "keys", [](auto& s, auto&) { s.keys = {}; }},
          {"length", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({65, 0});
           }},
      });
}

TEST(CheckItemTest, MalformedSortIsRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<SortBlocksStep>>;
  ExpectRefused<SortBlocksStep>(
      &Inputs::Sort,
      Case{
          {"float blocks", kDtypeUnsupported, "blocks.data_type",
           [](auto& s, auto&) { s.blocks.dtype = DType::kFloat32; }},
          {"no blocks wide", kShapeOutOfRange, "blocks.column_count",
           [](auto& s, auto&) { s.blocks.columns = 0; }},
          {"too wide", kShapeOutOfRange, "blocks.column_count",
           [](auto& s, auto&) { s.blocks.columns = 2049; }},
          {"another width", kShapeMismatch, "blocks.column_count",
           [](auto& s, auto&) { s.params.width = 3; }},
          {"id past the row", kBlockIdOutOfRange, "blocks",
           [](auto& s, auto& in) {
             s.blocks =
                 in.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{8, 0, 0, 0, 0, 0, 0, 0});
           }},
          {"id below -1", kBlockIdOutOfRange, "blocks",
           [](auto& s, auto& in) {
             s.blocks =
                 in.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{0, 0, 0, -2, 0, 0, 0, 0});
           }},
          {"no output", kFieldMissing, "out_blocks", [](auto& s, auto&) { s.blocks_out = {}; }},
          {"no table", kFieldMissing, "page_table", [](auto& s, auto&) { s.pages = {}; }},
          {"page below block", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 4; }},
          {"length past the limit", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({(1 << 21) + 1, 0});
           }},
          {"table narrow", kPageTableTooNarrow, "page_table",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({65, 0});
           }},
          {"page id", kPageIdOutOfRange, "page_table",
           [](auto& s, auto&) { s.pages.pool_pages = 3; }},
      });
}

TEST(CheckItemTest, MalformedPublishIsRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<PublishStep>>;
  ExpectRefused<PublishStep>(
      &Inputs::Publish,
      Case{
          {"k", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = 0; }},
          {"k_blocks", kKOutOfRange, "k_blocks", [](auto& s, auto&) { s.params.k_blocks = 2049; }},
          {"block size", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 0; }},
          {"order", kEnumUnknown, "order",
           [](auto& s, auto&) { s.params.order = static_cast<Order>(-1); }},
          {"no table", kFieldMissing, "page_table", [](auto& s, auto&) { s.pages = {}; }},
          {"page below block", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 2; }},
          {"page id", kPageIdOutOfRange, "page_table",
           [](auto& s, auto&) { s.pages.pool_pages = 2; }},
          {"length", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({0, 100});
           }},
      });
}

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
