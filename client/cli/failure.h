// How a command fails: exit code and the one line on stderr.

#ifndef WINNOW_CLIENT_CLI_FAILURE_H_
#define WINNOW_CLIENT_CLI_FAILURE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/cli/report.h"

namespace winnow::cli {

// Scripts depend on these numbers.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,       // anything else: a failed check, a full disk, the server's own error
  kExitBadInput = 2,     // bad usage or bad input
  kExitUnreachable = 3,  // no server answers
};

ExitCode ExitCodeOf(const absl::Status& status);

// The text without control characters, so that it cannot do to a terminal what it likes.
std::string OneLine(absl::string_view text);

// "winnow: " and the message, on one line, ended.
std::string FailureLine(const absl::Status& status);

// {"error": {"code", "reason", "field", "value", "limit", "row", "message"}}; the last five of the
// server's ErrorInfo are there when it is.
Json FailureJson(absl::string_view command, const absl::Status& status);

// A field of a request and the option whose file it came from: {"lengths", "--lengths l.npy"}.
using FieldSources = std::vector<std::pair<std::string, std::string>>;

// The server's error with the option of the field at fault after the message, so that a person
// knows which file to look at. The longest matching field counts. A leading "step." of the field
// and the message goes.
absl::Status WithSource(const absl::Status& status, const FieldSources& sources);

// For requests that hold some rows of the files, from `first_row`: says so, and counts the row of
// the error in the files' rows.
absl::Status WithRowOffset(const absl::Status& status, int64_t first_row, int64_t row_count);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_FAILURE_H_
