// The text of winnow-server --help. What it lists is in settings.h.

#ifndef WINNOW_SERVER_APP_FLAGS_HELP_H_
#define WINNOW_SERVER_APP_FLAGS_HELP_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace winnow::server {

// A flag that is no setting: of the command line alone, but for --config.
struct CommandFlag {
  absl::string_view name, value_name, help;
};
absl::Span<const CommandFlag> CommandFlags();

// Every flag under the heading of its subject, with its default; exit codes and signals. Lines have
// at most 96 columns but for a default that is longer.
std::string FlagsHelp();

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_FLAGS_HELP_H_
