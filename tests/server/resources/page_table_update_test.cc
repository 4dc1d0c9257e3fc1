#include "server/resources/page_table_update.h"

#include <gtest/gtest.h>

#include <climits>

#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using winnow::testing::IsOk;

constexpr PageTableShape kShape = {.rows = 2, .columns = 4, .page_size = 64, .pool_pages = 10};

absl::Status Check(const PageTableUpdate& update, const std::vector<int64_t>& filled = {0, 3}) {
  return CheckPageTableUpdate(kShape, 5, filled, update);
}

TEST(PageTableUpdateTest, ShapesOutsideTheLimitsNameTheirField) {
  EXPECT_THAT(CheckPageTableShape(kShape), IsOk());
  EXPECT_THAT(CheckPageTableShape({.rows = 0, .columns = 1, .page_size = 1}),
              FailsWith(ErrorReason::kShapeOutOfRange, "row_count"));
  EXPECT_THAT(CheckPageTableShape({.rows = 65537, .columns = 1, .page_size = 1}),
              FailsWith(ErrorReason::kShapeOutOfRange, "row_count"));
  EXPECT_THAT(CheckPageTableShape({.rows = 1, .columns = 0, .page_size = 1}),
              FailsWith(ErrorReason::kShapeOutOfRange, "column_count"));
  EXPECT_THAT(CheckPageTableShape({.rows = 1, .columns = INT64_MAX, .page_size = 1}),
              FailsWith(ErrorReason::kShapeOutOfRange, "column_count"));
  for (const int32_t page_size : {0, 3, -64, 1 << 21, INT_MIN}) {
    EXPECT_THAT(CheckPageTableShape({.rows = 1, .columns = 1, .page_size = page_size}),
                FailsWith(ErrorReason::kPageSizeInvalid, "page_size"))
        << page_size;
  }
  EXPECT_THAT(CheckPageTableShape({.rows = 1, .columns = 1, .page_size = 1, .pool_pages = -1}),
              FailsWith(ErrorReason::kValueOutOfRange, "pool_page_count"));
}

TEST(PageTableUpdateTest, StoredIdsAreBoundedByPoolAndSlot) {
  EXPECT_THAT(CheckStoredPageId(kShape, "ids", 0, -1), IsOk());
  EXPECT_THAT(CheckStoredPageId(kShape, "ids", 0, 9), IsOk());
  EXPECT_THAT(CheckStoredPageId(kShape, "ids", 0, 10),
              FailsWith(ErrorReason::kPageIdOutOfRange, "ids"));
  EXPECT_THAT(CheckStoredPageId(kShape, "ids", 0, -2),
              FailsWith(ErrorReason::kPageIdOutOfRange, "ids"));
  // Without a pool the last slot of the page must fit int32: (2^31 / 64) - 1 is the last such page.
  PageTableShape open = kShape;
  open.pool_pages = 0;
  EXPECT_THAT(CheckStoredPageId(open, "ids", 0, (1 << 25) - 1), IsOk());
  EXPECT_THAT(CheckStoredPageId(open, "ids", 0, 1 << 25),
              FailsWith(ErrorReason::kPageIdOutOfRange, "ids"));
}

TEST(PageTableUpdateTest, RangesMustFitTheirRow) {
  EXPECT_THAT(Check({.ranges = {{.row = 1, .column = 3, .page_ids = {1}}}}), IsOk());
  EXPECT_THAT(Check({.ranges = {{.row = 1, .column = 4, .page_ids = {}}}}), IsOk());
  EXPECT_THAT(Check({.ranges = {{.row = 2, .column = 0, .page_ids = {1}}}}),
              FailsWith(ErrorReason::kRangeOutOfBounds, "ranges[0].row"));
  EXPECT_THAT(Check({.ranges = {{.row = -1, .column = 0, .page_ids = {1}}}}),
              FailsWith(ErrorReason::kRangeOutOfBounds, "ranges[0].row"));
  for (const int64_t column : {int64_t{-1}, int64_t{3}, int64_t{5}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(Check({.ranges = {{.row = 0, .column = column, .page_ids = {1, 2}}}}),
                FailsWith(ErrorReason::kRangeOutOfBounds, "ranges[0].column"))
        << column;
  }
  EXPECT_THAT(Check({.ranges = {{.row = 0, .column = 0, .page_ids = {10}}}}),
              FailsWith(ErrorReason::kPageIdOutOfRange, "ranges[0].page_ids"));
}

TEST(PageTableUpdateTest, WhatARowTakesIsCountedInWords) {
  const auto limit = [](const PageTableUpdate& update) {
    return GetErrorInfo(Check(update))->limit;
  };
  EXPECT_EQ(limit({.appends = {{.row = 0, .page_ids = std::vector<int32_t>(5, 1)}}}),
            "at most 4 more ids in a row of 4");
  EXPECT_EQ(limit({.appends = {{.row = 1, .page_ids = {1, 2}}}}),
            "at most 1 more id in a row of 4");
  EXPECT_EQ(limit({.ranges = {{.row = 0, .column = 4, .page_ids = {1}}}}),
            "at most 3 for 1 id in a row of 4");
}

TEST(PageTableUpdateTest, AppendsAreCheckedWhereTheyWillLand) {
  EXPECT_THAT(Check({.appends = {{.row = 1, .page_ids = {1}}}}), IsOk());
  EXPECT_THAT(Check({.appends = {{.row = 1, .page_ids = {1}}, {.row = 1, .page_ids = {2}}}}),
              FailsWith(ErrorReason::kRangeOutOfBounds, "appends[1].page_ids"));
  EXPECT_THAT(Check({.clear_rows = {1}, .appends = {{.row = 1, .page_ids = {1, 2, 3, 4}}}}),
              IsOk());
  EXPECT_THAT(Check({.ranges = {{.row = 0, .column = 3, .page_ids = {1}}},
                     .appends = {{.row = 0, .page_ids = {1}}}}),
              FailsWith(ErrorReason::kRangeOutOfBounds, "appends[0].page_ids"));
  EXPECT_THAT(Check({.clear_rows = {0, 2}}),
              FailsWith(ErrorReason::kRangeOutOfBounds, "clear_rows[1]"));
}

TEST(PageTableUpdateTest, AnUnexpectedVersionIsStale) {
  EXPECT_THAT(Check({.expected_version = 5}), IsOk());
  EXPECT_THAT(Check({.expected_version = 4}),
              FailsWith(ErrorReason::kResourceStale, "expected_version"));
}

}  // namespace
}  // namespace winnow::server
