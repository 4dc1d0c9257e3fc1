// Keeps a lease alive: holds its stream, and gets it back when it is lost.

#ifndef WINNOW_CLIENT_SRC_LEASE_KEEPER_H_
#define WINNOW_CLIENT_SRC_LEASE_KEEPER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/src/call.h"
#include "client/src/lease_core.h"
#include "client/src/resource_calls.h"
#include "client/src/stub.h"
#include "winnow/client/lease_options.h"
#include "winnow/v1/lease_service.pb.h"

namespace winnow::client {

// What the calls of a lease go through.
struct LeaseChannel {
  const CallEnvironment* environment = nullptr;
  std::shared_ptr<const void> owner;  // of the environment; kept as long as it is used
};

// One thread that reads the stream. When the stream is lost: resume within the grace, else open
// another lease and make every resource again, else try again after a while, until it works or the
// lease is closed. Shared with its thread. Thread safety: Open once, then Close from any thread.
class LeaseKeeper : public std::enable_shared_from_this<LeaseKeeper> {
 public:
  LeaseKeeper(LeaseChannel channel, LeaseOptions options, std::shared_ptr<LeaseCore> core);

  bool has_grace() const { return options_.resume_grace > absl::ZeroDuration(); }

  // Opens the lease, within the timeout and with the retries of `settings`, and starts the thread.
  absl::Status Open(CallSettings settings, const std::stop_token& stop);
  // Ends the lease and its stream, and waits for the thread unless it runs on it. The core is
  // closed. Once. Ok when the server knows; `settings` and `stop` are those of the call that tells
  // it.
  absl::Status Close(const CallSettings& settings, const std::stop_token& stop);

 private:
  struct ServerIdentity {
    int64_t process_id = 0;
    absl::Time start_time = absl::InfinitePast();

    friend bool operator==(const ServerIdentity&, const ServerIdentity&) = default;
  };
  struct OpenStream {
    std::unique_ptr<MessageStream> stream;
    LeaseGrant grant;
    ServerIdentity server;
  };

  void Run();
  // Reads events until the stream ends. True when the lease is over for good.
  bool Follow();
  // Gets the lease back. False when it is over for good.
  bool Recover(const absl::Status& why);
  // One try. `event` is what to tell when it works. `patient`: memory that is not there now may be
  // when the lease before has let go of its own.
  absl::Status TryRecover(bool patient, LeaseEvent& event);
  // A new lease in the stead of one that is gone, on its device if that is still there.
  absl::StatusOr<OpenStream> OpenAnew(const std::stop_token& stop);
  absl::StatusOr<OpenStream> OpenOnce(const std::string& resume_lease_id,
                                      std::optional<int32_t> device, absl::Duration timeout,
                                      const std::stop_token& stop, bool wait_for_ready = false);
  absl::StatusOr<ServerIdentity> AskIdentity(absl::Duration timeout, const std::stop_token& stop);
  // In the new lease: makes all resources again.
  absl::Status Restore(const LeaseGrant& grant, bool patient, LeaseEvent& event);
  ResourceCalls Calls(const LeaseGrant& grant) const;
  // Ok also when the server has no such lease, or none any more.
  absl::Status CloseOnServer(const std::string& lease_id, CallSettings settings,
                             const std::stop_token& stop) const;
  // Closes a lease that is not wanted after all, as far as that can be done soon: with a grace, the
  // server would keep it and what was made in it.
  void Discard(const LeaseGrant& grant) const;
  // From now on it is the one to keep, and to close.
  void Hold(OpenStream opened);
  void Tell(LeaseEvent event) const;
  // The stream that can be cancelled from now on; false when the keeper is closing.
  bool Adopt(const std::stop_source& stream_stop);

  const LeaseChannel channel_;
  const LeaseOptions options_;
  const std::shared_ptr<LeaseCore> core_;
  OpenStream current_;  // of the thread, once it runs
  std::stop_source closing_;
  std::thread thread_;

  absl::Mutex mu_;
  std::stop_source stream_stop_ ABSL_GUARDED_BY(mu_);
  std::string lease_id_ ABSL_GUARDED_BY(mu_);  // of current_; empty when it has ended on the server
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_LEASE_KEEPER_H_
