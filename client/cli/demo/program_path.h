// Where the running program is, and programs beside it.

#ifndef WINNOW_CLIENT_CLI_DEMO_PROGRAM_PATH_H_
#define WINNOW_CLIENT_CLI_DEMO_PROGRAM_PATH_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace winnow::cli {

// The directory of the running program, links resolved; empty if the system does not say.
std::filesystem::path ProgramDirectory();

// winnow-server: beside the running program, else where the build puts it, else in $PATH. NotFound
// if it is in none of them.
absl::StatusOr<std::string> FindServerProgram();

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_PROGRAM_PATH_H_
