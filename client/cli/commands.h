// The commands of `winnow`. Each Add function registers one: its options, its help, what it runs.

#ifndef WINNOW_CLIENT_CLI_COMMANDS_H_
#define WINNOW_CLIENT_CLI_COMMANDS_H_

#include <functional>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "client/cli/report.h"

namespace winnow::cli {

struct Command {
  CLI::App* app;  // owned by the root
  const bool* json;
  std::function<absl::StatusOr<Report>()> run;  // after parsing; owns the option values
};
using Commands = std::vector<Command>;

void AddTopKCommand(CLI::App& root, Commands& commands);
void AddPlanCommand(CLI::App& root, Commands& commands);
void AddBlockAmaxCommand(CLI::App& root, Commands& commands);
void AddSortBlocksCommand(CLI::App& root, Commands& commands);
void AddPublishCommand(CLI::App& root, Commands& commands);
void AddConsumeCommand(CLI::App& root, Commands& commands);
void AddDemoCommand(CLI::App& root, Commands& commands);
void AddInfoCommand(CLI::App& root, Commands& commands);
void AddProbeCommand(CLI::App& root, Commands& commands);
void AddLeasesCommand(CLI::App& root, Commands& commands);
void AddDrainCommand(CLI::App& root, Commands& commands);
void AddOccupancyCommand(CLI::App& root, Commands& commands);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_COMMANDS_H_
