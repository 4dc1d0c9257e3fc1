// The known word nearest to a mistyped one.

#ifndef WINNOW_CLIENT_CLI_SUGGEST_H_
#define WINNOW_CLIENT_CLI_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace winnow::cli {

// The word of `known` with the fewest edits from `typed`, the first of equals; empty when none is
// near enough to be meant: at most a third of its letters, or `typed` is the start of it.
std::string Nearest(absl::string_view typed, const std::vector<std::string>& known);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_SUGGEST_H_
