// What may be done to a page table, and the checks before it is done.

#ifndef WINNOW_SERVER_RESOURCES_PAGE_TABLE_UPDATE_H_
#define WINNOW_SERVER_RESOURCES_PAGE_TABLE_UPDATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace winnow::server {

struct PageTableShape {
  int64_t rows = 0;     // 1 to kMaxRows
  int64_t columns = 0;  // 1 to kMaxColumns
  int32_t page_size = 0;
  int32_t pool_pages = 0;  // 0: not declared
};

struct PageTableEdit {
  int64_t row = 0;
  int64_t column = 0;  // first column; -1: after the last entry set in the row since it was cleared
  std::vector<int32_t> page_ids;
};

struct PageTableUpdate {
  std::vector<int64_t> clear_rows;  // first
  std::vector<PageTableEdit> ranges;
  std::vector<PageTableEdit> appends;  // last; column is ignored
  int64_t expected_version = 0;        // 0: any
};

// InvalidArgument naming field, value and limit: SHAPE_OUT_OF_RANGE, PAGE_SIZE_INVALID,
// VALUE_OUT_OF_RANGE.
absl::Status CheckPageTableShape(const PageTableShape& shape);

// A table may store -1, "no page"; it fails the request that needs it. Otherwise
// PAGE_ID_OUT_OF_RANGE.
absl::Status CheckStoredPageId(const PageTableShape& shape, absl::string_view field, int64_t row,
                               int32_t id);

// RANGE_OUT_OF_BOUNDS unless 0 <= row < rows.
absl::Status CheckTableRow(absl::string_view field, int64_t row, int64_t rows);

// Whether `update` can be applied to a table of `shape` at `version` whose rows have their first
// filled[row] entries set.
absl::Status CheckPageTableUpdate(const PageTableShape& shape, int64_t version,
                                  const std::vector<int64_t>& filled,
                                  const PageTableUpdate& update);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_PAGE_TABLE_UPDATE_H_
