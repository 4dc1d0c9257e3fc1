#include "server/rpc/field_names.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using testing::FailsWith;
using ::testing::HasSubstr;
using testing::StatusIs;

absl::Status Fault(ErrorReason reason, absl::string_view field, absl::string_view message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message,
                   {.reason = reason, .field = std::string(field), .row = 4});
}

TEST(FieldNamesTest, AUnaryOperationNamesItsFieldsBelowStep) {
  const auto status = RenameForStep(
      Fault(ErrorReason::kLengthOutOfRange, "lengths", "lengths[4] ends its row at 9"), {});
  EXPECT_THAT(status, FailsWith(ErrorReason::kLengthOutOfRange, "step.lengths"));
  EXPECT_EQ(status.message(), "step.lengths[4] ends its row at 9");
  EXPECT_EQ(GetErrorInfo(status)->row, 4);
}

TEST(FieldNamesTest, NamesOfFaultsBecomeThoseOfTheContract) {
  EXPECT_THAT(RenameForStep(Fault(ErrorReason::kPageIdOutOfRange, "page_table",
                                  "page_table entry 1 of row 4 is -3"),
                            {}),
              FailsWith(ErrorReason::kPageIdOutOfRange, "step.page_table.table"));
  EXPECT_THAT(
      RenameForStep(Fault(ErrorReason::kPageTableRowOutOfRange, "page_table_rows", "x"), {}),
      FailsWith(ErrorReason::kPageTableRowOutOfRange, "step.page_table.row_indices"));
  EXPECT_THAT(RenameForStep(Fault(ErrorReason::kKeysTooNarrow, "keys", "x"), {}),
              FailsWith(ErrorReason::kKeysTooNarrow, "step.key_column_count"));
}

WorkItem WithPagesResource() {
  TopKStep step;
  step.pages.is_resource = true;
  WorkItem item;
  item.steps.emplace_back(BlockAmaxStep{});
  item.steps.emplace_back(step);
  return item;
}

TEST(FieldNamesTest, AFaultInAPageTableOfTheLeaseNamesTheResource) {
  const WorkItem item = WithPagesResource();
  const absl::Status entry =
      RenameForExecute(Fault(ErrorReason::kPageIdOutOfRange, "steps[1].page_table",
                             "steps[1].page_table entry 1 of row 4 is -3"),
                       item);
  EXPECT_THAT(entry, FailsWith(ErrorReason::kPageIdOutOfRange, "steps[1].page_table.resource"));
  EXPECT_EQ(entry.message(), "steps[1].page_table.resource entry 1 of row 4 is -3");
  const absl::Status page_size =
      RenameForExecute(Fault(ErrorReason::kPageSizeInvalid, "steps[1].page_table.page_size",
                             "steps[1].page_table.page_size is 4; this server accepts at least 8"),
                       item);
  EXPECT_THAT(page_size, FailsWith(ErrorReason::kPageSizeInvalid, "steps[1].page_table.resource"));
  EXPECT_EQ(page_size.message(),
            "steps[1].page_table.resource: page_table.page_size is 4; this server accepts at "
            "least 8");
}

TEST(FieldNamesTest, WhatTheRequestItselfSaysBesideAPagesResourceKeepsItsName) {
  const WorkItem item = WithPagesResource();
  EXPECT_THAT(
      RenameForExecute(Fault(ErrorReason::kPageTableRowOutOfRange, "steps[1].page_table_rows", "x"),
                       item),
      FailsWith(ErrorReason::kPageTableRowOutOfRange, "steps[1].page_table.row_indices"));
  EXPECT_THAT(
      RenameForExecute(Fault(ErrorReason::kPageIdOutOfRange, "steps[0].page_table", "x"), item),
      FailsWith(ErrorReason::kPageIdOutOfRange, "steps[0].page_table.table"));
}

TEST(FieldNamesTest, AMessageThatDoesNotBeginWithTheFieldGetsItInFront) {
  EXPECT_THAT(
      RenameForPublish(Fault(ErrorReason::kPageTableTooNarrow, "page_table", "row 4 needs 3"), {}),
      StatusIs(absl::StatusCode::kInvalidArgument, "page_table.table: row 4 needs 3"));
}

TEST(FieldNamesTest, ConsumeSpeaksOfBlockSlotsAndCandidateLengths) {
  EXPECT_THAT(RenameForConsume(Fault(ErrorReason::kPageIdOutOfRange, "page_table", "x"), {}),
              FailsWith(ErrorReason::kPageIdOutOfRange, "block_slots"));
  EXPECT_THAT(RenameForConsume(Fault(ErrorReason::kLengthOutOfRange, "lengths", "x"), {}),
              FailsWith(ErrorReason::kLengthOutOfRange, "candidate_lengths"));
}

TEST(FieldNamesTest, ExecuteNamesTheStepAlsoWhenThereIsOnlyOne) {
  WorkItem one;
  one.steps.emplace_back(TopKStep{});
  EXPECT_THAT(RenameForExecute(Fault(ErrorReason::kLengthOutOfRange, "lengths", "x"), one),
              FailsWith(ErrorReason::kLengthOutOfRange, "steps[0].lengths"));
  WorkItem two;
  two.steps.resize(2);
  const auto status = RenameForExecute(
      Fault(ErrorReason::kKeysTooNarrow, "steps[1].keys", "steps[1].row 4 has 9 blocks"), two);
  EXPECT_THAT(status, FailsWith(ErrorReason::kKeysTooNarrow, "steps[1].key_column_count"));
  EXPECT_EQ(status.message(), "steps[1].key_column_count: row 4 has 9 blocks");
}

TEST(FieldNamesTest, AnErrorWithoutAFieldStaysAsItIs) {
  const absl::Status status =
      MakeError(absl::StatusCode::kUnavailable, "gone", {.reason = ErrorReason::kDeviceLost});
  EXPECT_EQ(RenameForStep(status, {}), status);
  EXPECT_EQ(RenameForStep(absl::InternalError("x"), {}), absl::InternalError("x"));
}

}  // namespace
}  // namespace winnow::server
