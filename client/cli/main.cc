// The command line's entry: parse, run one command, print, exit code.

#include "client/cli/command_line.h"

int main(int argc, char** argv) { return winnow::cli::RunCommandLine(argc, argv); }
