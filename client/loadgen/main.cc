// winnow-stress: sends load to a server and says what it did. Exit code 0 when every verified
// result was right, every failure was one that the mode explains, and the server holds nothing
// afterwards.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "client/cli/tls_flags.h"
#include "client/loadgen/arguments.h"
#include "client/loadgen/session.h"
#include "winnow/client/diagnosis.h"
#include "winnow/client/error.h"

namespace winnow::stress {
namespace {

constexpr int kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitUnreachable = 3;

// Prints why it could not run.
int Report(const Arguments& arguments, const absl::Status& status) {
  absl::Status why = status;
  const bool unreachable = client::IsUnreachable(status);
  if (unreachable) {
    const absl::Status seen = client::DiagnoseConnection(ClientOptionsOf(arguments));
    if (!seen.ok()) why = seen;
  }
  std::fprintf(stderr, "winnow-stress: %s\n",
               std::string(cli::WithTlsFlagNames(why).message()).c_str());
  if (unreachable) return kExitUnreachable;
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed;
}

int Main(int argc, char** argv) {
  cli::RefuseOldTls();
  Arguments arguments;
  CLI::App app("Sends load to a winnow-server, verifies answers, and measures.", "winnow-stress");
  Describe(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  absl::StatusOr<Session> session = Session::Create(arguments);
  const absl::StatusOr<bool> passed = session.ok() ? session->Run() : session.status();
  if (!passed.ok()) return Report(arguments, passed.status());
  return *passed ? kExitOk : kExitFailed;
}

}  // namespace
}  // namespace winnow::stress

int main(int argc, char** argv) { return winnow::stress::Main(argc, argv); }
