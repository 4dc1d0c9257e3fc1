#include "server/app/stop_events.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "absl/status/status.h"

namespace winnow::server {

absl::StatusOr<std::unique_ptr<StopEvents>> StopEvents::Create() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGUSR1);
  sigaddset(&signals, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd < 0) return absl::ErrnoToStatus(errno, "cannot wait for signals");
  const int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd < 0) {
    close(signal_fd);
    return absl::ErrnoToStatus(errno, "cannot wait for events");
  }
  return std::unique_ptr<StopEvents>(new StopEvents(signal_fd, event_fd));
}

StopEvents::~StopEvents() {
  close(signal_fd_);
  close(event_fd_);
}

void StopEvents::Wake() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the reader is awake.
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof(one));
}

void StopEvents::RequestDrain(absl::Duration timeout) {
  {
    absl::MutexLock lock(&mu_);
    requested_ = timeout;
  }
  Wake();
}

void StopEvents::NotifyDone() {
  {
    absl::MutexLock lock(&mu_);
    done_ = true;
  }
  Wake();
}

std::optional<StopEvent> StopEvents::Wait(absl::Duration patience) {
  pollfd files[] = {{signal_fd_, POLLIN, 0}, {event_fd_, POLLIN, 0}};
  if (poll(files, 2, static_cast<int>(absl::ToInt64Milliseconds(patience))) <= 0) {
    return std::nullopt;
  }
  signalfd_siginfo info;
  if (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    return StopEvent{.signal = static_cast<int>(info.ssi_signo)};
  }
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = read(event_fd_, &count, sizeof(count));
  absl::MutexLock lock(&mu_);
  const StopEvent event{.timeout = requested_, .done = done_};
  requested_.reset();
  if (!event.done && !event.timeout.has_value()) return std::nullopt;
  return event;
}

}  // namespace winnow::server
