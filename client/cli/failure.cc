#include "client/cli/failure.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "winnow/client/error.h"

namespace winnow::cli {
namespace {

// "page_table" is the field of "page_table.table" and of "page_table[3]", not of "page_table_rows".
bool IsField(absl::string_view path, absl::string_view field) {
  if (!absl::StartsWith(path, field)) return false;
  return path.size() == field.size() || path[field.size()] == '.' || path[field.size()] == '[';
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (client::IsUnreachable(status)) return kExitUnreachable;
  return absl::IsInvalidArgument(status) ? kExitBadInput : kExitFailed;
}

std::string OneLine(absl::string_view text) {
  std::string line;
  for (char letter : text) {
    line += absl::ascii_iscntrl(static_cast<unsigned char>(letter)) ? ' ' : letter;
  }
  return line;
}

std::string FailureLine(const absl::Status& status) {
  return absl::StrCat("winnow: ", OneLine(status.message()), "\n");
}

Json FailureJson(absl::string_view command, const absl::Status& status) {
  Json error = {{"code", absl::StatusCodeToString(status.code())}};
  if (std::optional<ErrorInfo> info = GetErrorInfo(status); info.has_value()) {
    error["reason"] = std::string(Name(info->reason));
    error["field"] = info->field;
    error["value"] = info->value;
    error["limit"] = info->limit;
    error["row"] = info->row;
  }
  error["message"] = OneLine(status.message());
  return {{"command", command}, {"error", std::move(error)}};
}

absl::Status WithSource(const absl::Status& status, const FieldSources& sources) {
  std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value()) return status;
  // The unary requests wrap their operation in `step`, which no option is called.
  info->field = std::string(absl::StripPrefix(info->field, "step."));
  std::string message(absl::StripPrefix(status.message(), "step."));
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& source : sources) {
    if (!IsField(info->field, source.first)) continue;
    if (best == nullptr || source.first.size() > best->first.size()) best = &source;
  }
  if (best != nullptr) absl::StrAppend(&message, " (", best->second, ")");
  return MakeError(status.code(), message, *std::move(info));
}

absl::Status WithRowOffset(const absl::Status& status, int64_t first_row, int64_t row_count) {
  std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value() || first_row == 0 || info->row < 0) return status;
  const int64_t row = info->row;
  info->row += first_row;
  return MakeError(status.code(),
                   absl::StrCat(status.message(), " (in the request for rows ", first_row, " to ",
                                first_row + row_count - 1, ": its row ", row, " is row ",
                                first_row + row, " of the files)"),
                   *std::move(info));
}

}  // namespace winnow::cli
