// The command line's entry: parse, run one command, print, exit code.

#include "client/cli/command_line.h"
#include "client/cli/tls_flags.h"

int main(int argc, char** argv) {
  winnow::cli::RefuseOldTls();
  return winnow::cli::RunCommandLine(argc, argv);
}
