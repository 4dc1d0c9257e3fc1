#include "server/resources/page_table_update.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Follows how far each row would be filled, so that appends are checked where they will land.
class UpdateChecker {
 public:
  UpdateChecker(const PageTableShape& shape, const std::vector<int64_t>& filled)
      : shape_(shape), filled_(filled) {}

  absl::Status Clear(absl::string_view field, int64_t row) {
    WINNOW_RETURN_IF_ERROR(CheckTableRow(field, row, shape_.rows));
    touched_[row] = 0;
    return absl::OkStatus();
  }

  absl::Status Write(absl::string_view field, const PageTableEdit& edit, bool append) {
    WINNOW_RETURN_IF_ERROR(CheckTableRow(absl::StrCat(field, ".row"), edit.row, shape_.rows));
    int64_t& filled = touched_.try_emplace(edit.row, filled_[edit.row]).first->second;
    const int64_t column = append ? filled : edit.column;
    const auto count = static_cast<int64_t>(edit.page_ids.size());
    if (append && count > shape_.columns - column) {
      return InvalidField(ErrorReason::kRangeOutOfBounds, absl::StrCat(field, ".page_ids"), count,
                          absl::StrCat("at most ", CountText(shape_.columns - column, "more id"),
                                       " in a row of ", shape_.columns));
    }
    if (column < 0 || column > shape_.columns || count > shape_.columns - column) {
      return InvalidField(ErrorReason::kRangeOutOfBounds, absl::StrCat(field, ".column"), column,
                          absl::StrCat("at most ", shape_.columns - count, " for ",
                                       CountText(count, "id"), " in a row of ", shape_.columns));
    }
    for (const int32_t id : edit.page_ids) {
      WINNOW_RETURN_IF_ERROR(
          CheckStoredPageId(shape_, absl::StrCat(field, ".page_ids"), edit.row, id));
    }
    filled = std::max(filled, column + count);
    return absl::OkStatus();
  }

 private:
  const PageTableShape& shape_;
  const std::vector<int64_t>& filled_;
  absl::flat_hash_map<int64_t, int64_t> touched_;
};

}  // namespace

absl::Status CheckPageTableShape(const PageTableShape& shape) {
  if (shape.rows < 1 || shape.rows > kMaxRows) {
    return InvalidField(ErrorReason::kShapeOutOfRange, "row_count", shape.rows,
                        absl::StrCat("1 to ", kMaxRows));
  }
  if (shape.columns < 1 || shape.columns > kMaxColumns) {
    return InvalidField(ErrorReason::kShapeOutOfRange, "column_count", shape.columns,
                        absl::StrCat("1 to ", kMaxColumns));
  }
  const bool power_of_two = shape.page_size > 0 && (shape.page_size & (shape.page_size - 1)) == 0;
  if (!power_of_two || shape.page_size > kMaxPageSize) {
    return InvalidField(ErrorReason::kPageSizeInvalid, "page_size", shape.page_size,
                        absl::StrCat("powers of two from 1 to ", kMaxPageSize));
  }
  if (shape.pool_pages < 0) {
    return InvalidField(ErrorReason::kValueOutOfRange, "pool_page_count", shape.pool_pages,
                        "0 (not declared) or more");
  }
  return absl::OkStatus();
}

absl::Status CheckStoredPageId(const PageTableShape& shape, absl::string_view field, int64_t row,
                               int32_t id) {
  const int64_t fits_slot = (int64_t{1} << 31) / shape.page_size;
  const int64_t limit =
      shape.pool_pages > 0 ? std::min<int64_t>(shape.pool_pages, fits_slot) : fits_slot;
  if (id >= -1 && id < limit) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(field, " holds ", id, " for row ", row,
                                "; this table accepts -1 to ", limit - 1),
                   {.reason = ErrorReason::kPageIdOutOfRange,
                    .field = std::string(field),
                    .value = absl::StrCat(id),
                    .limit = absl::StrCat("-1 to ", limit - 1),
                    .row = row});
}

absl::Status CheckTableRow(absl::string_view field, int64_t row, int64_t rows) {
  if (row >= 0 && row < rows) return absl::OkStatus();
  return InvalidField(ErrorReason::kRangeOutOfBounds, field, row, absl::StrCat("0 to ", rows - 1));
}

absl::Status CheckPageTableUpdate(const PageTableShape& shape, int64_t version,
                                  const std::vector<int64_t>& filled,
                                  const PageTableUpdate& update) {
  if (update.expected_version != 0 && update.expected_version != version) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("expected_version is ", update.expected_version,
                                  "; the table is at ", version),
                     {.reason = ErrorReason::kResourceStale,
                      .field = "expected_version",
                      .value = absl::StrCat(update.expected_version),
                      .limit = absl::StrCat(version)});
  }
  UpdateChecker checker(shape, filled);
  for (size_t index = 0; index < update.clear_rows.size(); ++index) {
    WINNOW_RETURN_IF_ERROR(
        checker.Clear(absl::StrCat("clear_rows[", index, "]"), update.clear_rows[index]));
  }
  for (size_t index = 0; index < update.ranges.size(); ++index) {
    WINNOW_RETURN_IF_ERROR(
        checker.Write(absl::StrCat("ranges[", index, "]"), update.ranges[index], false));
  }
  for (size_t index = 0; index < update.appends.size(); ++index) {
    WINNOW_RETURN_IF_ERROR(
        checker.Write(absl::StrCat("appends[", index, "]"), update.appends[index], true));
  }
  return absl::OkStatus();
}

}  // namespace winnow::server
