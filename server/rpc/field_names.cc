#include "server/rpc/field_names.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

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

// Splits "steps[3]." off the front of a field.
absl::string_view TakeStepPrefix(absl::string_view& field) {
  if (!absl::StartsWith(field, "steps[")) return "";
  const size_t dot = field.find('.');
  if (dot == absl::string_view::npos) return "";
  const absl::string_view prefix = field.substr(0, dot + 1);
  field.remove_prefix(dot + 1);
  return prefix;
}

using NameFunction = absl::string_view (*)(absl::string_view field, ErrorReason reason);

// `prefix` stands before the field when it has no prefix of its own.
absl::Status Rename(const absl::Status& status, absl::string_view prefix, NameFunction name) {
  std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value() || info->field.empty()) return status;
  absl::string_view bare = info->field;
  const absl::string_view own_prefix = TakeStepPrefix(bare);
  if (!own_prefix.empty()) prefix = own_prefix;
  std::string renamed = absl::StrCat(prefix, name(bare, info->reason));
  absl::string_view message = status.message();
  absl::ConsumePrefix(&message, own_prefix);
  // Most messages begin with the field that they are about; the others get it before them.
  const std::string text = absl::ConsumePrefix(&message, bare)
                               ? absl::StrCat(renamed, message)
                               : absl::StrCat(renamed, ": ", message);
  info->field = std::move(renamed);
  return MakeError(status.code(), text, *std::move(info));
}

}  // namespace

absl::Status RenameForStep(const absl::Status& status, const WorkItem& /*item*/) {
  return Rename(status, "step.", RequestName);
}

absl::Status RenameForPublish(const absl::Status& status, const WorkItem& /*item*/) {
  return Rename(status, "", RequestName);
}

absl::Status RenameForConsume(const absl::Status& status, const WorkItem& /*item*/) {
  return Rename(status, "", ConsumeName);
}

absl::Status RenameForExecute(const absl::Status& status, const WorkItem& item) {
  return Rename(status, item.steps.size() == 1 ? "steps[0]." : "", RequestName);
}

}  // namespace winnow::server
