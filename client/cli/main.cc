// The command line's entry: parse, run one command, print, exit code.

#include <signal.h>
#include <stdio.h>

#include <string>

#include "CLI/CLI.hpp"
#include "client/cli/command_line.h"

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of the write, not a death
  return winnow::cli::RunCommandLine(argc, argv);
}
