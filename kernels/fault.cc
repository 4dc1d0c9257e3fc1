// Turns what a kernel recorded about bad device data into the error that the caller sees.

#include <string>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/operations.h"

namespace winnow {
namespace {

absl::Status FaultError(ErrorReason reason, absl::string_view field, const FaultRecord& fault,
                        std::string limit, std::string message,
                        absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  return MakeError(code, message,
                   {.reason = reason,
                    .field = std::string(field),
                    .value = absl::StrCat(fault.value),
                    .limit = std::move(limit),
                    .row = fault.row});
}

absl::Status PlanStaleError(const FaultRecord& fault) {
  static constexpr absl::string_view kWhat[] = {"", "rows", "columns", "k", "dtype"};
  std::string message;
  if (fault.entry <= 0 || fault.entry > 4) {
    message = absl::StrCat("lengths[", fault.row, "] is ", fault.value,
                           " but the plan was made for ", fault.limit, "; plan again");
  } else {
    message = absl::StrCat(kWhat[fault.entry], " is ", fault.value, " but the plan was made for ",
                           fault.limit, "; plan again");
  }
  return FaultError(ErrorReason::kPlanStale, "plan", fault, absl::StrCat(fault.limit), message,
                    absl::StatusCode::kFailedPrecondition);
}

std::string Below(int64_t limit) { return absl::StrCat("0 to ", limit - 1); }

}  // namespace

absl::Status StatusFromFault(const FaultRecord& fault) {
  const auto row = fault.row;
  switch (static_cast<FaultKind>(fault.kind)) {
    case FaultKind::kNone:
      return absl::OkStatus();
    case FaultKind::kLengthOutOfRange:
      return FaultError(ErrorReason::kLengthOutOfRange, "lengths", fault,
                        absl::StrCat("at most ", fault.limit),
                        absl::StrCat("lengths[", row, "] ends its row at ", fault.value,
                                     " but a row has ", CountText(fault.limit, "column")));
    case FaultKind::kRowStartOutOfRange:
      return FaultError(ErrorReason::kRowStartOutOfRange, "row_starts", fault,
                        absl::StrCat("0 to ", fault.limit),
                        absl::StrCat("row_starts[", row, "] is ", fault.value,
                                     "; this request accepts 0 to ", fault.limit, ", its columns"));
    case FaultKind::kPageTableRowOutOfRange:
      return FaultError(ErrorReason::kPageTableRowOutOfRange, "page_table_rows", fault,
                        Below(fault.limit),
                        absl::StrCat("page_table_rows[", row, "] is ", fault.value,
                                     " but the page table has ", CountText(fault.limit, "row")));
    case FaultKind::kPageTableTooNarrow:
      return FaultError(ErrorReason::kPageTableTooNarrow, "page_table", fault,
                        absl::StrCat("at most ", fault.limit),
                        absl::StrCat("row ", row, " needs ", CountText(fault.value, "page"),
                                     " but the page table has ", CountText(fault.limit, "column")));
    case FaultKind::kPageIdOutOfRange:
      return FaultError(ErrorReason::kPageIdOutOfRange, "page_table", fault, Below(fault.limit),
                        absl::StrCat("page_table entry ", fault.entry, " of row ", row, " is ",
                                     fault.value, "; the pool accepts ", Below(fault.limit)));
    case FaultKind::kBlockIdOutOfRange:
      return FaultError(ErrorReason::kBlockIdOutOfRange, "blocks", fault,
                        absl::StrCat("-1 to ", fault.limit - 1),
                        absl::StrCat("blocks[", row, "][", fault.entry, "] is ", fault.value,
                                     " but the row has ", CountText(fault.limit, "block")));
    case FaultKind::kKeysTooNarrow:
      return FaultError(ErrorReason::kKeysTooNarrow, "keys", fault,
                        absl::StrCat("at most ", fault.limit),
                        absl::StrCat("row ", row, " has ", CountText(fault.value, "block"),
                                     " but keys has ", CountText(fault.limit, "column")));
    case FaultKind::kIndexOutOfRange:
      return FaultError(ErrorReason::kIndexOutOfRange, "index_offsets", fault,
                        absl::StrCat("at most ", fault.limit),
                        absl::StrCat("index_offsets[", row, "] makes the last index of its row ",
                                     fault.value, "; an index is at most ", fault.limit));
    case FaultKind::kPlanStale:
      return PlanStaleError(fault);
  }
  return MakeError(absl::StatusCode::kInternal,
                   absl::StrCat("a kernel reported the unknown fault ", fault.kind),
                   {.reason = ErrorReason::kInternal, .row = fault.row});
}

}  // namespace winnow
