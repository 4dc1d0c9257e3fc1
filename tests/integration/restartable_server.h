// For clients that outlive their server: one that comes back, and what a lease tells meanwhile.

#ifndef WINNOW_TESTS_INTEGRATION_RESTARTABLE_SERVER_H_
#define WINNOW_TESTS_INTEGRATION_RESTARTABLE_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/integration/server_process.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::testing {

// A server that can be ended and started again at the same address.
class RestartableServer {
 public:
  RestartableServer() { Start(); }
  void Start(std::vector<std::string> flags = {});
  void Kill();
  // Ends it as an operator does.
  void Drain();
  void Restart() {
    Kill();
    Start();
  }
  // Stops all of its threads, and lets them go on.
  void Hang();
  void GoOn();
  client::Client Connect(bool streaming) const;

 private:
  TempFolder folder_;
  std::unique_ptr<ServerProcess> process_;
};

// Collects what a lease tells. Thread safety: safe to call from several threads.
class LeaseEventLog {
 public:
  std::function<void(const client::LeaseEvent&)> Listener();
  // The latest event of the kind, when there were `count` of them; bounded.
  std::optional<client::LeaseEvent> Await(client::LeaseEventKind kind, int count = 1);

 private:
  absl::Mutex mu_;
  std::vector<client::LeaseEvent> events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_RESTARTABLE_SERVER_H_
