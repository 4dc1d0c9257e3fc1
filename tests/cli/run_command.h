// Runs the winnow program as a person would, with a server of the tests' own.

#ifndef WINNOW_TESTS_CLI_RUN_COMMAND_H_
#define WINNOW_TESTS_CLI_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace winnow::cli {

struct CommandResult {
  int exit_code = -1;  // -1: it did not end by itself within two minutes
  std::string out;
  std::string err;
};

// `arguments` after the program's name. The environment has neither WINNOW_TARGET nor a server at
// the default address. `environment`: more of it, "NAME=value".
CommandResult RunWinnow(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment = {});

// What `--json` printed; a JSON null after a test failure if it is none.
nlohmann::json ParseJson(const CommandResult& result);

// "--target" and the address of a server that runs until the tests end.
std::vector<std::string> TargetArguments();

// `arguments` and TargetArguments().
CommandResult RunOnServer(std::vector<std::string> arguments);

}  // namespace winnow::cli

#endif  // WINNOW_TESTS_CLI_RUN_COMMAND_H_
