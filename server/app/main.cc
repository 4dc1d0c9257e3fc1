// winnow-server: reads its flags, serves until it is told to stop, drains. What happens is in
// serve.h.

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/app/flags.h"
#include "server/app/flags_help.h"
#include "server/app/serve.h"
#include "server/app/server.h"
#include "server/base/logging.h"

namespace winnow::server {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "winnow-server: %s\n", std::string(status.message()).c_str());
  return kExitUsage;
}

int Print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return kExitOk;
  std::fprintf(stderr, "winnow-server: the output cannot be written: %s\n", std::strerror(errno));
  return kExitFailed;
}

void WarnOfMistypedVariables() {
  std::vector<const char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  for (const std::string& warning : MistypedVariables(variables)) {
    Log(LogLevel::kWarning, "variable ignored", {{"variable", warning}});
  }
}

int Main(int argc, char** argv) {
#ifdef NDEBUG
  // Distributions build abseil with the search for deadlocks in, which takes a lock of the whole
  // process for each mutex that is taken: 2 us of a request. Debug builds keep it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  // A GPU gives each stream a hardware queue of its own only up to this number, 8 unless told: a
  // stream that waits for another process must not hold up others.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(
      absl::MakeConstSpan(argv + 1, argv + argc), [](const char* name) { return getenv(name); });
  if (!flags.ok()) return Fail(flags.status());
  if (flags->help) return Print(FlagsHelp());
  if (flags->version) return Print(absl::StrCat("winnow-server ", ServerVersion(), "\n"));
  if (const absl::Status status = flags->config.Validate(); !status.ok()) {
    return Fail(status);
  }
  if (flags->print_config) return Print(PrintConfig(*flags));
  // A peer that closes its end must not end the server.
  signal(SIGPIPE, SIG_IGN);
  SetLogLevel(flags->config.log_level);
  WarnOfMistypedVariables();
  return Serve(flags->config);
}

}  // namespace
}  // namespace winnow::server

int main(int argc, char** argv) { return winnow::server::Main(argc, argv); }
