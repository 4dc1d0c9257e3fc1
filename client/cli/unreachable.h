// Why no server answers at a target, in words that say what to do.

#ifndef WINNOW_CLIENT_CLI_UNREACHABLE_H_
#define WINNOW_CLIENT_CLI_UNREACHABLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace winnow::cli {

// One line about `target` ("unix:PATH" or "HOST:PORT"), at which a call has just failed. Looks at
// the socket of a Unix target to tell apart: nothing is there, something that is no socket, a
// socket that this user may not use, one on which nobody listens any more.
std::string WhyUnreachable(const std::string& target);

// What is said of a `target` that cannot be one, for `why` it was refused. `source` gave it: an
// option or a variable.
std::string WhyNoTarget(absl::string_view source, absl::string_view target,
                        const absl::Status& why);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_UNREACHABLE_H_
