#include "server/rpc/field_names.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

constexpr absl::string_view kPagesResource = "page_table.resource";

// Whether that step maps through a page table of the lease.
bool UsesPagesResource(const WorkItem& item, size_t step) {
  if (step >= item.steps.size()) return false;
  return std::visit(
      [](const auto& operation) {
        if constexpr (requires { operation.pages; }) {
          return operation.pages.is_resource;
        } else {
          return false;
        }
      },
      item.steps[step]);
}

// Whether a resource has what that field names: its entries, shape and page size. Which of its rows
// are used is the request's own.
bool IsOfPagesResource(absl::string_view field) {
  return field == "page_table" || field == "page_table.page_size" ||
         absl::StartsWith(field, "page_table.table");
}

// Where the contract has another name than the operation.
absl::string_view RequestName(absl::string_view field, ErrorReason reason) {
  if (field == "page_table") return "page_table.table";
  if (field == "page_table_rows") return "page_table.row_indices";
  if (field == "keys" && reason == ErrorReason::kKeysTooNarrow) return "key_column_count";
  return field;
}

absl::string_view ConsumeName(absl::string_view field, ErrorReason /*reason*/) {
  if (field == "page_table" || field == "page_table.table") return "block_slots";
  if (field == "lengths") return "candidate_lengths";
  return field;
}

// Splits "steps[3]." off the front of a field, and sets `step` to its number.
absl::string_view TakeStepPrefix(absl::string_view& field, size_t& step) {
  constexpr absl::string_view kSteps = "steps[";
  if (!absl::StartsWith(field, kSteps)) return "";
  const size_t dot = field.find('.');
  if (dot == absl::string_view::npos) return "";
  const absl::string_view prefix = field.substr(0, dot + 1);
  const absl::string_view number = prefix.substr(kSteps.size(), dot - kSteps.size() - 1);
  if (!absl::SimpleAtoi(number, &step)) return "";
  field.remove_prefix(dot + 1);
  return prefix;
}

using NameFunction = absl::string_view (*)(absl::string_view field, ErrorReason reason);

// `prefix` stands before the field when it has no prefix of its own.
absl::Status Rename(const absl::Status& status, const WorkItem& item, absl::string_view prefix,
                    NameFunction name) {
  std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value() || info->field.empty()) return status;
  absl::string_view bare = info->field;
  size_t step = 0;
  const absl::string_view own_prefix = TakeStepPrefix(bare, step);
  if (!own_prefix.empty()) prefix = own_prefix;
  const bool of_resource = IsOfPagesResource(bare) && UsesPagesResource(item, step);
  std::string renamed =
      absl::StrCat(prefix, of_resource ? kPagesResource : name(bare, info->reason));
  absl::string_view message = status.message();
  absl::ConsumePrefix(&message, own_prefix);
  // Most messages begin with the field that they are about; the others get it before them, and so
  // do those that say what of a resource it is.
  const bool says_more = of_resource && bare != "page_table";
  const std::string text = !says_more && absl::ConsumePrefix(&message, bare)
                               ? absl::StrCat(renamed, message)
                               : absl::StrCat(renamed, ": ", message);
  info->field = std::move(renamed);
  return MakeError(status.code(), text, *std::move(info));
}

}  // namespace

absl::Status RenameForStep(const absl::Status& status, const WorkItem& item) {
  return Rename(status, item, "step.", RequestName);
}

absl::Status RenameForPublish(const absl::Status& status, const WorkItem& item) {
  return Rename(status, item, "", RequestName);
}

absl::Status RenameForConsume(const absl::Status& status, const WorkItem& item) {
  return Rename(status, item, "", ConsumeName);
}

absl::Status RenameForExecute(const absl::Status& status, const WorkItem& item) {
  return Rename(status, item, item.steps.size() == 1 ? "steps[0]." : "", RequestName);
}

}  // namespace winnow::server
