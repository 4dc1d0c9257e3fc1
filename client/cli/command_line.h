// Parses a command line, runs the command and prints what it has to say.

#ifndef WINNOW_CLIENT_CLI_COMMAND_LINE_H_
#define WINNOW_CLIENT_CLI_COMMAND_LINE_H_

namespace winnow::cli {

// Prints to stdout and stderr and returns the exit code, see failure.h.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_COMMAND_LINE_H_
