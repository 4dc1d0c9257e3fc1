// The command line, the environment and the configuration file of winnow-server. The settings
// themselves are in settings.cc.

#ifndef WINNOW_SERVER_APP_FLAGS_H_
#define WINNOW_SERVER_APP_FLAGS_H_

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/app/server_config.h"

namespace winnow::server {

struct ParsedFlags {
  ServerConfig config;
  std::string config_path;  // of the file that was read; empty: none
  // Of each setting that is not the default, by name: "--threads", "WINNOW_THREADS" or
  // "winnow.yaml:3".
  std::map<std::string, std::string> sources;
  bool print_config = false;
  bool help = false;
  bool version = false;
};

// Reads `--name=value`, `--name value` and, for switches, `--name`. A setting that no flag gives is
// read from the environment as WINNOW_NAME (`--max-queued-bytes` is WINNOW_MAX_QUEUED_BYTES; values
// of a list are separated by commas), then from the file that `--config` or WINNOW_CONFIG names,
// then it has its default. A list comes from one of these places as a whole. InvalidArgument names
// the flag, variable or line, and for an unknown name the one that is nearest. `arguments` are
// without the program's name; `environment` gives a variable's value or null.
absl::StatusOr<ParsedFlags> ParseFlags(
    absl::Span<const char* const> arguments,
    const std::function<const char*(const char* name)>& environment);

// The text of --print-config: every setting in force, as a configuration file that gives the same,
// with a comment for each that says where it came from.
std::string PrintConfig(const ParsedFlags& flags);

// Variables among `names` ("NAME=value", as the environment holds them) that look like a mistyped
// setting, with the one that was probably meant: "WINNOW_THREDS: did you mean WINNOW_THREADS".
// Others that begin with WINNOW_ are left alone, because orchestrators add variables of that form.
std::vector<std::string> MistypedVariables(absl::Span<const char* const> names);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_FLAGS_H_
