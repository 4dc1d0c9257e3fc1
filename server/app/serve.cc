#include "server/app/serve.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "server/app/stop_events.h"
#include "server/base/logging.h"

namespace winnow::server {
namespace {

constexpr absl::Duration kHealthPeriod = absl::Seconds(1);

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "winnow-server: %s\n", std::string(status.message()).c_str());
  return kExitFailed;
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

}  // namespace

int Serve(const ServerConfig& config, const BackendOpener& open_backend) {
  RaiseDescriptorLimit();
  absl::StatusOr<std::unique_ptr<StopEvents>> events = StopEvents::Create();
  if (!events.ok()) return Fail(events.status());
  StopEvents& stop_events = **events;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
      config, [&stop_events](absl::Duration timeout) { stop_events.RequestDrain(timeout); },
      open_backend);
  if (!server.ok()) return Fail(server.status());
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
      return kExitDeviceLost;
    }
  }
}

}  // namespace winnow::server
