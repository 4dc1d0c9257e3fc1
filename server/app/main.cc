// winnow-server: reads its flags, serves until it is told to stop, drains. What happens is in
// server.h.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/app/flags.h"
#include "server/app/server.h"
#include "server/app/stop_events.h"
#include "server/base/logging.h"

namespace winnow::server {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr absl::Duration kHealthPeriod = absl::Seconds(1);

int Fail(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "winnow-server: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

// SIGUSR1 shows all lines, SIGUSR2 those of the configuration again.
void ChangeLogLevel(int signal, LogLevel configured) {
  if (signal != SIGUSR1 && signal != SIGUSR2) return;
  const LogLevel level = signal == SIGUSR1 ? LogLevel::kDebug : configured;
  SetLogLevel(level);
  Log(LogLevel::kWarning, "log level changed", {{"to", LogLevelName(level)}});
}

// Drains on a thread of its own, so that a second signal is heard.
void DrainUnlessHurried(Server& server, StopEvents& events, absl::Duration timeout) {
  std::thread drain([&] {
    server.Drain(timeout);
    events.NotifyDone();
  });
  while (true) {
    const std::optional<StopEvent> event = events.Wait(kHealthPeriod);
    if (!event.has_value()) continue;
    if (event->done) break;
    if (event->signal == SIGTERM || event->signal == SIGINT) {
      Log(LogLevel::kWarning, "second signal, ending at once", {{"signal", event->signal}});
      _exit(128 + event->signal);
    }
  }
  drain.join();
}

// A connection needs a descriptor; the usual soft limit is below what the hard one allows.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(const ServerConfig& config) {
  RaiseDescriptorLimit();
  absl::StatusOr<std::unique_ptr<StopEvents>> events = StopEvents::Create();
  if (!events.ok()) return Fail(events.status(), kExitFailed);
  StopEvents& stop_events = **events;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
      config, [&stop_events](absl::Duration timeout) { stop_events.RequestDrain(timeout); });
  if (!server.ok()) return Fail(server.status(), kExitFailed);
  while (true) {
    const std::optional<StopEvent> event = stop_events.Wait(kHealthPeriod);
    if (event.has_value()) ChangeLogLevel(event->signal, config.log_level);
    if (event.has_value() && event->ends_server()) {
      DrainUnlessHurried(**server, stop_events, event->timeout.value_or(config.drain_timeout));
      return kExitOk;
    }
    (*server)->DoPeriodicWork();
    if (!(*server)->CheckHealth().ok()) {
      DrainUnlessHurried(**server, stop_events, absl::ZeroDuration());
      return kExitFailed;
    }
  }
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
  // A peer that closes its end must not end the server.
  signal(SIGPIPE, SIG_IGN);
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(
      absl::MakeConstSpan(argv + 1, argv + argc), [](const char* name) { return getenv(name); });
  if (!flags.ok()) return Fail(flags.status(), kExitUsage);
  if (flags->help) {
    std::fputs(FlagsHelp().c_str(), stdout);
    return kExitOk;
  }
  if (flags->version) {
    std::fputs(absl::StrCat("winnow-server ", ServerVersion(), "\n").c_str(), stdout);
    return kExitOk;
  }
  if (const absl::Status status = flags->config.Validate(); !status.ok()) {
    return Fail(status, kExitUsage);
  }
  if (flags->print_config) {
    std::fputs(PrintConfig(*flags).c_str(), stdout);
    return kExitOk;
  }
  SetLogLevel(flags->config.log_level);
  WarnOfMistypedVariables();
  return Serve(flags->config);
}

}  // namespace
}  // namespace winnow::server

int main(int argc, char** argv) { return winnow::server::Main(argc, argv); }
