// What the main thread waits for: reasons to stop (SIGTERM, SIGINT, requests of peers), and the
// signals that change the log's level (SIGUSR1, SIGUSR2).

#ifndef WINNOW_SERVER_APP_STOP_EVENTS_H_
#define WINNOW_SERVER_APP_STOP_EVENTS_H_

#include <signal.h>

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace winnow::server {

struct StopEvent {
  int signal = 0;                         // 0: not a signal
  std::optional<absl::Duration> timeout;  // what the peer asked for
  bool done = false;                      // NotifyDone was called

  bool ends_server() const { return signal == SIGTERM || signal == SIGINT || timeout.has_value(); }
};

class StopEvents {
 public:
  // Takes these signals from now on. Call it before any thread is started: they inherit the
  // mask.
  static absl::StatusOr<std::unique_ptr<StopEvents>> Create();
  ~StopEvents();
  StopEvents(const StopEvents&) = delete;
  StopEvents& operator=(const StopEvents&) = delete;

  // From any thread.
  void RequestDrain(absl::Duration timeout);
  void NotifyDone();

  // The next event; nullopt when none came within `patience`.
  std::optional<StopEvent> Wait(absl::Duration patience);

 private:
  StopEvents(int signal_fd, int event_fd) : signal_fd_(signal_fd), event_fd_(event_fd) {}
  void Wake();

  const int signal_fd_;
  const int event_fd_;
  absl::Mutex mu_;
  std::optional<absl::Duration> requested_ ABSL_GUARDED_BY(mu_);
  bool done_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_STOP_EVENTS_H_
