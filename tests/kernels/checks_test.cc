// The table of malformed TopK and PlanTopK calls. Each entry spoils one thing of a good call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "winnow/kernels/operations.h"

namespace winnow {
namespace {

using Reason = ErrorReason;

// A call that passes: 4 rows of 100 columns, every option in use. Nothing behind its pointers is
// ever read.
struct Call {
  Call() {
    segment.scores = memory;
    segment.row_stride = 128;
    segment.rows = 4;
    segment.columns = 100;
    segment.lengths = segment.row_starts = segment.index_offsets = memory;
    segment.pages.page_table = segment.pages.page_table_rows = memory;
    segment.pages.row_stride = 16;
    segment.pages.table_rows = 8;
    segment.pages.table_columns = 13;
    segment.pages.page_size = 8;
    segment.pages.pool_pages = 1000;
    segment.indices = segment.slots = memory;
    segment.values = memory;
    segment.indices_row_stride = segment.slots_row_stride = segment.values_row_stride = 7;
    segment.report = &report;
  }

  int32_t memory[4] = {};
  SegmentReport report;
  TopKParams params{.k = 7};
  TopKSegment segment;
};

struct Malformed {
  Reason reason;
  const char* field;
  void (*spoil)(Call&);
};

template <typename T>
T* Shifted(T* pointer, int bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

void ExpectRefused(const Malformed* begin, const Malformed* end) {
  for (const Malformed* entry = begin; entry != end; ++entry) {
    Call call;
    entry->spoil(call);
    const absl::Status status = CheckTopK(call.params, {&call.segment, 1});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << entry - begin;
    EXPECT_THAT(status, testing::FailsWith(entry->reason, entry->field)) << entry - begin;
    EXPECT_FALSE(GetErrorInfo(status).value_or(ErrorInfo{}).limit.empty()) << entry - begin;
  }
}

TEST(ChecksTest, AGoodCallPasses) {
  Call call;
  EXPECT_OK(CheckTopK(call.params, {&call.segment, 1}));
  call.segment.row_starts = call.segment.index_offsets = nullptr;
  call.segment.pages = {};
  call.segment.slots = nullptr;
  EXPECT_OK(CheckTopK(call.params, {&call.segment, 1}));
}

TEST(ChecksTest, ParametersOutOfRangeAreRefused) {
  const Malformed table[] = {
      {Reason::kKOutOfRange, "k", [](Call& c) { c.params.k = 0; }},
      {Reason::kKOutOfRange, "k", [](Call& c) { c.params.k = -1; }},
      {Reason::kKOutOfRange, "k", [](Call& c) { c.params.k = 2049; }},
      {Reason::kKOutOfRange, "k", [](Call& c) { c.params.k = INT32_MIN; }},
      {Reason::kDtypeUnsupported, "dtype", [](Call& c) { c.params.dtype = DType::kInt32; }},
      {Reason::kDtypeUnsupported, "dtype", [](Call& c) { c.params.dtype = DType::kUnspecified; }},
      {Reason::kDtypeUnsupported, "dtype", [](Call& c) { c.params.dtype = DType{99}; }},
      {Reason::kEnumUnknown, "order", [](Call& c) { c.params.order = Order{3}; }},
      {Reason::kEnumUnknown, "order", [](Call& c) { c.params.order = Order{-1}; }},
      {Reason::kValueOutOfRange, "max_length", [](Call& c) { c.segment.max_length = -1; }},
  };
  ExpectRefused(std::begin(table), std::end(table));
}

TEST(ChecksTest, ShapesAndStridesOutOfRangeAreRefused) {
  const Malformed table[] = {
      {Reason::kShapeOutOfRange, "rows", [](Call& c) { c.segment.rows = 0; }},
      {Reason::kShapeOutOfRange, "rows", [](Call& c) { c.segment.rows = -4; }},
      {Reason::kShapeOutOfRange, "rows", [](Call& c) { c.segment.rows = kMaxRows + 1; }},
      {Reason::kShapeOutOfRange, "columns", [](Call& c) { c.segment.columns = 0; }},
      {Reason::kShapeOutOfRange, "columns", [](Call& c) { c.segment.columns = -1; }},
      {Reason::kShapeOutOfRange, "columns", [](Call& c) { c.segment.columns = kMaxColumns + 1; }},
      {Reason::kStrideTooSmall, "row_stride", [](Call& c) { c.segment.row_stride = 99; }},
      {Reason::kStrideTooSmall, "row_stride", [](Call& c) { c.segment.row_stride = 0; }},
      {Reason::kStrideTooSmall, "row_stride", [](Call& c) { c.segment.row_stride = -128; }},
      {Reason::kStrideTooSmall, "row_stride", [](Call& c) { c.segment.row_stride = INT64_MIN; }},
      {Reason::kSizeOverflow, "row_stride", [](Call& c) { c.segment.row_stride = INT64_MAX; }},
      {Reason::kSizeOverflow, "row_stride", [](Call& c) { c.segment.row_stride = INT64_MAX / 4; }},
      {Reason::kSizeOverflow, "row_stride",
       [](Call& c) { c.segment.row_stride = (int64_t{1} << 60) + 1; }},
      {Reason::kStrideTooSmall, "indices_row_stride",
       [](Call& c) { c.segment.indices_row_stride = 6; }},
      {Reason::kSizeOverflow, "indices_row_stride",
       [](Call& c) { c.segment.indices_row_stride = INT64_MAX; }},
      {Reason::kStrideTooSmall, "slots_row_stride",
       [](Call& c) { c.segment.slots_row_stride = -7; }},
      {Reason::kSizeOverflow, "slots_row_stride",
       [](Call& c) { c.segment.slots_row_stride = INT64_MAX - 7; }},
      {Reason::kStrideTooSmall, "values_row_stride",
       [](Call& c) { c.segment.values_row_stride = 0; }},
      {Reason::kSizeOverflow, "values_row_stride",
       [](Call& c) { c.segment.values_row_stride = INT64_MAX / 2; }},
  };
  ExpectRefused(std::begin(table), std::end(table));
}

TEST(ChecksTest, MissingAndMisalignedPointersAreRefused) {
  const Malformed table[] = {
      {Reason::kFieldMissing, "scores", [](Call& c) { c.segment.scores = nullptr; }},
      {Reason::kFieldMissing, "lengths", [](Call& c) { c.segment.lengths = nullptr; }},
      {Reason::kFieldMissing, "report", [](Call& c) { c.segment.report = nullptr; }},
      {Reason::kFieldMissing, "indices",
       [](Call& c) {
         c.segment.indices = c.segment.slots = nullptr;
         c.segment.values = nullptr;
       }},
      {Reason::kAlignmentInvalid, "scores",
       [](Call& c) { c.segment.scores = Shifted(c.memory, 2); }},
      {Reason::kAlignmentInvalid, "lengths",
       [](Call& c) { c.segment.lengths = Shifted(c.memory, 1); }},
      {Reason::kAlignmentInvalid, "row_starts",
       [](Call& c) { c.segment.row_starts = Shifted(c.memory, 2); }},
      {Reason::kAlignmentInvalid, "index_offsets",
       [](Call& c) { c.segment.index_offsets = Shifted(c.memory, 3); }},
      {Reason::kAlignmentInvalid, "indices",
       [](Call& c) { c.segment.indices = Shifted(c.memory, 2); }},
      {Reason::kAlignmentInvalid, "slots", [](Call& c) { c.segment.slots = Shifted(c.memory, 2); }},
      {Reason::kAlignmentInvalid, "values",
       [](Call& c) { c.segment.values = Shifted(c.memory, 2); }},
      {Reason::kAlignmentInvalid, "plan",
       [](Call& c) { c.segment.plan = reinterpret_cast<std::byte*>(Shifted(c.memory, 2)); }},
      {Reason::kAlignmentInvalid, "report",
       [](Call& c) { c.segment.report = Shifted(&c.report, 4); }},
  };
  ExpectRefused(std::begin(table), std::end(table));
}

TEST(ChecksTest, BadPageTablesAreRefused) {
  const Malformed table[] = {
      {Reason::kFieldMissing, "pages.page_table",
       [](Call& c) { c.segment.pages.page_table = nullptr; }},
      {Reason::kPageSizeInvalid, "pages.page_size", [](Call& c) { c.segment.pages.page_size = 0; }},
      {Reason::kPageSizeInvalid, "pages.page_size", [](Call& c) { c.segment.pages.page_size = 3; }},
      {Reason::kPageSizeInvalid, "pages.page_size",
       [](Call& c) { c.segment.pages.page_size = -8; }},
      {Reason::kPageSizeInvalid, "pages.page_size",
       [](Call& c) { c.segment.pages.page_size = 2 * kMaxPageSize; }},
      {Reason::kPageSizeInvalid, "pages.page_size",
       [](Call& c) { c.segment.pages.page_size = INT32_MIN; }},
      {Reason::kShapeOutOfRange, "pages.table_rows",
       [](Call& c) { c.segment.pages.table_rows = 0; }},
      {Reason::kShapeOutOfRange, "pages.table_columns",
       [](Call& c) { c.segment.pages.table_columns = 0; }},
      {Reason::kShapeOutOfRange, "pages.table_columns",
       [](Call& c) { c.segment.pages.table_columns = kMaxColumns + 1; }},
      {Reason::kValueOutOfRange, "pages.pool_pages",
       [](Call& c) { c.segment.pages.pool_pages = -1; }},
      {Reason::kShapeMismatch, "pages.table_rows",
       [](Call& c) {
         c.segment.pages.page_table_rows = nullptr;
         c.segment.pages.table_rows = 3;
       }},
      {Reason::kStrideTooSmall, "pages.row_stride",
       [](Call& c) { c.segment.pages.row_stride = 12; }},
      {Reason::kSizeOverflow, "pages.row_stride",
       [](Call& c) { c.segment.pages.row_stride = INT64_MAX / 8; }},
      {Reason::kAlignmentInvalid, "pages.page_table",
       [](Call& c) { c.segment.pages.page_table = Shifted(c.memory, 2); }},
      {Reason::kAlignmentInvalid, "pages.page_table_rows",
       [](Call& c) { c.segment.pages.page_table_rows = Shifted(c.memory, 1); }},
  };
  ExpectRefused(std::begin(table), std::end(table));
}

TEST(ChecksTest, Bfloat16NeedsTheAlignmentOfItsElementOnly) {
  Call call;
  call.params.dtype = DType::kBfloat16;
  call.segment.scores = Shifted(call.memory, 2);
  call.segment.values = Shifted(call.memory, 2);
  EXPECT_OK(CheckTopK(call.params, {&call.segment, 1}));
}

TEST(ChecksTest, TheSegmentAtFaultIsNamedWhenThereAreSeveral) {
  Call good, bad;
  bad.segment.rows = 0;
  const std::vector<TopKSegment> segments = {good.segment, good.segment, bad.segment};
  EXPECT_THAT(CheckTopK(good.params, segments),
              testing::FailsWith(Reason::kShapeOutOfRange, "segments[2].rows"));
}

TEST(ChecksTest, NoSegmentAndTooManySegmentsAreRefused) {
  Call call;
  EXPECT_THAT(CheckTopK(call.params, {}), testing::FailsWith(Reason::kShapeOutOfRange, "segments"));
  const std::vector<TopKSegment> segments(kMaxSegments + 1, call.segment);
  EXPECT_THAT(CheckTopK(call.params, segments),
              testing::FailsWith(Reason::kShapeOutOfRange, "segments"));
}

TEST(ChecksTest, PlansOutOfRangeAreRefused) {
  EXPECT_OK(CheckPlan({.k = 1, .columns = 1}, 1));
  EXPECT_OK(CheckPlan({.k = kMaxK, .columns = kMaxColumns, .static_threshold = -5}, kMaxRows));
  EXPECT_THAT(CheckPlan({.k = 0, .columns = 1}, 1), testing::FailsWith(Reason::kKOutOfRange, "k"));
  EXPECT_THAT(CheckPlan({.k = 1, .columns = kMaxColumns + 1}, 1),
              testing::FailsWith(Reason::kShapeOutOfRange, "columns"));
  EXPECT_THAT(CheckPlan({.k = 1, .columns = 1}, kMaxRows + 1),
              testing::FailsWith(Reason::kShapeOutOfRange, "rows"));
  EXPECT_THAT(CheckPlan({.dtype = DType{7}, .k = 1, .columns = 1}, 1),
              testing::FailsWith(Reason::kDtypeUnsupported, "dtype"));
}

}  // namespace
}  // namespace winnow
