#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/operations.h"

namespace winnow {
namespace {

using ::testing::HasSubstr;

FaultRecord Fault(FaultKind kind, int64_t entry, int64_t value, int64_t limit) {
  return {static_cast<int32_t>(kind), 17, entry, value, limit};
}

TEST(FaultTest, NoFaultIsOk) { EXPECT_OK(StatusFromFault(FaultRecord{})); }

TEST(FaultTest, EveryFaultNamesRowValueAndLimit) {
  struct Case {
    FaultRecord fault;
    ErrorReason reason;
    const char* field;
    const char* message;
  };
  const Case table[] = {
      {Fault(FaultKind::kLengthOutOfRange, 0, 70000, 65536), ErrorReason::kLengthOutOfRange,
       "lengths", "lengths[17] ends its row at 70000 but a row has 65536 columns"},
      {Fault(FaultKind::kRowStartOutOfRange, 0, -3, 65536), ErrorReason::kRowStartOutOfRange,
       "row_starts", "row_starts[17] is -3; this request accepts 0 to 65536"},
      {Fault(FaultKind::kPageTableRowOutOfRange, 0, 9, 4), ErrorReason::kPageTableRowOutOfRange,
       "page_table_rows", "page_table_rows[17] is 9 but the page table has 4 rows"},
      {Fault(FaultKind::kPageTableTooNarrow, 0, 9, 4), ErrorReason::kPageTableTooNarrow,
       "page_table", "row 17 needs 9 pages but the page table has 4 columns"},
      {Fault(FaultKind::kPageIdOutOfRange, 3, 99, 64), ErrorReason::kPageIdOutOfRange, "page_table",
       "page_table entry 3 of row 17 is 99; the pool accepts 0 to 63"},
      {Fault(FaultKind::kBlockIdOutOfRange, 3, 99, 64), ErrorReason::kBlockIdOutOfRange, "blocks",
       "blocks[17][3] is 99 but the row has 64 blocks"},
      {Fault(FaultKind::kKeysTooNarrow, 0, 99, 64), ErrorReason::kKeysTooNarrow, "keys",
       "row 17 has 99 blocks but keys has 64 columns"},
      {Fault(FaultKind::kIndexOutOfRange, 0, 2147483648, INT32_MAX), ErrorReason::kIndexOutOfRange,
       "index_offsets", "index_offsets[17] makes the last index of its row 2147483648"},
  };
  for (const Case& expected : table) {
    const absl::Status status = StatusFromFault(expected.fault);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status, testing::FailsWith(expected.reason, expected.field));
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected.message));
    EXPECT_EQ(GetErrorInfo(status)->row, 17);
  }
}

TEST(FaultTest, NumbersAgreeWithTheirNouns) {
  const auto message = [](FaultKind kind, int64_t value, int64_t limit) {
    return std::string(StatusFromFault(Fault(kind, 0, value, limit)).message());
  };
  EXPECT_THAT(message(FaultKind::kPageTableTooNarrow, 2, 1), HasSubstr("has 1 column"));
  EXPECT_THAT(message(FaultKind::kPageTableTooNarrow, 2, 1),
              ::testing::Not(HasSubstr("1 columns")));
  EXPECT_THAT(message(FaultKind::kPageTableTooNarrow, 1, 0),
              HasSubstr("needs 1 page but the page table has 0 columns"));
  EXPECT_THAT(message(FaultKind::kKeysTooNarrow, 1, 0), HasSubstr("has 1 block but"));
  EXPECT_THAT(message(FaultKind::kPageTableRowOutOfRange, 1, 1), HasSubstr("has 1 row"));
  EXPECT_EQ(CountText(1, "row"), "1 row");
  EXPECT_EQ(CountText(0, "row"), "0 rows");
}

TEST(FaultTest, AStalePlanIsAFailedPrecondition) {
  const absl::Status lengths = StatusFromFault(Fault(FaultKind::kPlanStale, 0, 5, 6));
  EXPECT_THAT(lengths,
              testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("lengths[17] is 5 but the plan was made for 6")));
  const absl::Status k = StatusFromFault(Fault(FaultKind::kPlanStale, 3, 5, 6));
  EXPECT_THAT(k, testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                   HasSubstr("k is 5 but the plan was made for 6")));
}

TEST(FaultTest, AnUnknownFaultIsInternal) {
  EXPECT_EQ(StatusFromFault({77, 0, 0, 0, 0}).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace winnow
