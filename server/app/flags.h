// The command line and the environment of winnow-server.

#ifndef WINNOW_SERVER_APP_FLAGS_H_
#define WINNOW_SERVER_APP_FLAGS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/app/server_config.h"

namespace winnow::server {

struct ParsedFlags {
  ServerConfig config;
  bool help = false;
  bool version = false;
};

// Reads `--name=value`, `--name value` and, for switches, `--name`. A flag that is not given is
// read from the environment as WINNOW_NAME (`--max-queued-bytes` is WINNOW_MAX_QUEUED_BYTES;
// several listeners are separated by commas). Sizes take the suffixes K, M and G (powers of 1024),
// times s, ms and m. InvalidArgument names the flag, and for an unknown one the flag that is
// nearest to it. `arguments` are without the program's name; `environment` gives a variable's value
// or null.
absl::StatusOr<ParsedFlags> ParseFlags(
    absl::Span<const char* const> arguments,
    const std::function<const char*(const char* name)>& environment);

// The text of --help.
std::string FlagsHelp();

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_FLAGS_H_
