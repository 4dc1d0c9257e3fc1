#include "server/batching/row_slices.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

TopKStep& TopKOf(WorkItem& item, size_t step = 0) { return std::get<TopKStep>(item.steps[step]); }

TEST(RowSlicesTest, AnItemOfEquallyTallStepsCanBeCut) {
  WorkItem item = MakeTopKItem(10, 8, 4);
  item.steps.push_back(item.steps[0]);
  EXPECT_EQ(SliceableRows(item), 10);
  TopKOf(item, 1).scores.rows = 9;
  EXPECT_EQ(SliceableRows(item), 0);
}

TEST(RowSlicesTest, OneRowOrAPlanForAllRowsCannotBeCut) {
  EXPECT_EQ(SliceableRows(MakeTopKItem(1, 8, 4)), 0);
  WorkItem item = MakeTopKItem(10, 8, 4);
  std::byte plan{};
  TopKOf(item).plan = &plan;
  EXPECT_EQ(SliceableRows(item), 0);
}

TEST(RowSlicesTest, RowsThatChooseAmongAStepsRowsCannotBeCut) {
  HostArena arena;
  WorkItem item = MakeTopKItem(2, 8, 4);
  PageTableRef& pages = TopKOf(item).pages;
  pages.table = FromStep(0, OutputName::kSlots, DType::kInt32, 2, 4);
  EXPECT_EQ(SliceableRows(item), 2);
  pages.rows = arena.AddVector({0, 0});
  EXPECT_EQ(SliceableRows(item), 0);
  pages.table = arena.AddVector({5});
  EXPECT_EQ(SliceableRows(item), 2);
}

TEST(RowSlicesTest, ASliceSeesItsRowsOfEveryInput) {
  HostArena arena;
  WorkItem item = MakeTopKItem(10, 8, 4);
  TopKStep& whole = TopKOf(item);
  whole.row_starts = arena.AddVector(std::vector<int32_t>(10, 0));
  whole.pages.table = arena.Add(DType::kInt32, 10, 3, std::vector<int32_t>(70), 0, 7);
  item.first_row = 1000;
  PrepareResults(item);
  WorkItem slice = SliceRows(item, 6, 3);
  const TopKStep& part = TopKOf(slice);
  EXPECT_EQ(slice.first_row, 1006);
  EXPECT_EQ(part.scores.rows, 3);
  EXPECT_EQ(part.scores.data, whole.scores.data + 6 * 8 * 4);
  EXPECT_EQ(part.lengths.data, whole.lengths.data + 6 * 4);
  EXPECT_EQ(part.row_starts.data, whole.row_starts.data + 6 * 4);
  EXPECT_EQ(part.pages.table.data, whole.pages.table.data + 6 * 7 * 4);
  EXPECT_EQ(part.pages.table.rows, 3);
  EXPECT_FALSE(part.index_offsets.present());
}

TEST(RowSlicesTest, ATableThatRowsChooseFromStaysWhole) {
  HostArena arena;
  WorkItem item = MakeTopKItem(10, 8, 4);
  TopKOf(item).pages.table = arena.Add(DType::kInt32, 2, 3, std::vector<int32_t>(6));
  TopKOf(item).pages.rows = arena.AddVector(std::vector<int32_t>(10, 1));
  PrepareResults(item);
  WorkItem slice = SliceRows(item, 6, 3);
  EXPECT_EQ(TopKOf(slice).pages.table.data, TopKOf(item).pages.table.data);
  EXPECT_EQ(TopKOf(slice).pages.table.rows, 2);
  EXPECT_EQ(TopKOf(slice).pages.rows.rows, 3);
}

TEST(RowSlicesTest, SlicesWriteIntoTheWholesOutputs) {
  WorkItem item = MakeTopKItem(10, 8, 4);
  std::vector<int32_t> device(100);
  TopKOf(item).values = ToDevice(device.data(), 10);
  TopKOf(item).slots = Keep();
  PrepareResults(item);
  ASSERT_EQ(item.results[0].outputs.size(), 1u);
  EXPECT_EQ(item.results[0].outputs[0].data, std::string(10 * 4 * 4, '\0'));
  WorkItem slice = SliceRows(item, 6, 3);
  const TopKStep& part = TopKOf(slice);
  EXPECT_EQ(part.indices.placement, OutputRef::Placement::kHost);
  EXPECT_EQ(reinterpret_cast<char*>(part.indices.data),
            item.results[0].outputs[0].data.data() + 6 * 4 * 4);
  EXPECT_EQ(part.values.data, reinterpret_cast<std::byte*>(device.data() + 60));
  EXPECT_EQ(part.slots.placement, OutputRef::Placement::kKeep);
}

TEST(RowSlicesTest, CountsAddUpAndTheErrorOfTheLowestRowWins) {
  WorkItem item = MakeTopKItem(10, 8, 4);
  PrepareResults(item);
  const auto fail = [](int64_t row) {
    return MakeError(absl::StatusCode::kInvalidArgument, "bad row",
                     {.reason = ErrorReason::kLengthOutOfRange, .field = "lengths", .row = row});
  };
  WorkItem good = SliceRows(item, 0, 5);
  good.results.resize(1);
  good.results[0].negative_rows = 2;
  good.results[0].route_rows[1] = 3;
  MergeSlice(good, item);
  MergeSlice(good, item);
  EXPECT_EQ(item.results[0].negative_rows, 4);
  EXPECT_EQ(item.results[0].route_rows[1], 6);
  for (const int64_t row : {7, 5, 9}) {
    WorkItem bad = SliceRows(item, 5, 5);
    bad.status = fail(row);
    MergeSlice(bad, item);
  }
  EXPECT_EQ(GetErrorInfo(item.status)->row, 5);
}

}  // namespace
}  // namespace winnow::server
