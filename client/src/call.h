// A call: attempts of one RPC until one succeeds, fails for good, or the deadline is near.

#ifndef WINNOW_CLIENT_SRC_CALL_H_
#define WINNOW_CLIENT_SRC_CALL_H_

#include <google/protobuf/message_lite.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/clock.h"
#include "client/src/stub.h"
#include "winnow/client/retry_policy.h"

namespace winnow::client {

// Lets the attempts of one call through and judges how they ended. Thread safety: one thread at a
// time.
class CallGate {
 public:
  enum class Verdict {
    kAsUsual,  // the retry policy decides
    kRepeat,   // through the gate again; does not count as an attempt
  };

  virtual ~CallGate() = default;
  // Before each attempt; may change the request. Zero: go on. More: ask again after that time.
  // An error ends the call. Does not block.
  virtual absl::StatusOr<absl::Duration> Admit() = 0;
  // After each attempt.
  virtual Verdict Judge(const absl::Status& status) = 0;
  // Why Admit lets nobody through, for the message of a timeout.
  virtual absl::Status Waiting() const = 0;
};

// Which failures let the same call be tried again.
enum class Repeat {
  kSafe,         // transient ones (error.h)
  kWhenRefused,  // those of them that the server answered with: it has done nothing then
  kNever,
};

struct CallSettings {
  std::string method;
  absl::Duration timeout = absl::InfiniteDuration();
  RetryPolicy retry;
  bool wait_for_ready = false;
  Metadata metadata;
  Repeat repeat = Repeat::kSafe;
  std::shared_ptr<CallGate> gate;  // null: none. Shared with the call that outlives its caller
};

// What every call of a connection uses. All outlive the calls.
struct CallEnvironment {
  Stub* stub = nullptr;
  Clock* clock = nullptr;
  std::function<double()> jitter;  // in [0, 1); safe to call from several threads
  std::string target;              // for messages
};

// Where a call stands between its attempts. Thread safety: one thread at a time.
class CallProgress {
 public:
  CallProgress(const CallEnvironment& environment, const CallSettings& settings);

  // Of the attempt that starts now; 0 or less when the deadline has passed.
  absl::Duration RemainingTime() const;
  // Asks the gate, if there is one: how long to wait before asking again, zero to go on.
  absl::StatusOr<absl::Duration> AskGate();
  // Whether the gate wants the attempt that ended with `status` to be made again.
  bool GateRepeats(const absl::Status& status) const;
  // After an attempt failed with `error`: how long to wait before the next, or nothing when the
  // call is over.
  std::optional<absl::Duration> NextAttemptAfter(const absl::Status& error);
  // What the caller sees in place of `error`: gRPC's own texts become ones that say what to do.
  absl::Status Explain(const absl::Status& error) const;
  absl::Status TimeoutError() const;

 private:
  const CallEnvironment& environment_;
  const CallSettings& settings_;
  const absl::Time deadline_;
  int32_t attempts_ = 0;
  absl::Status last_transient_;
};

// Returns when the call is over. `response` is what the last attempt left in it.
absl::Status RunCall(const CallEnvironment& environment, const CallSettings& settings,
                     const std::stop_token& stop, const google::protobuf::MessageLite& request,
                     google::protobuf::MessageLite& response);

// What an asynchronous call owns until it is over.
struct AsyncMessages {
  std::unique_ptr<google::protobuf::MessageLite> request;
  std::unique_ptr<google::protobuf::MessageLite> response;
};
using CallDone = absl::AnyInvocable<void(absl::Status, AsyncMessages) &&>;

// Calls `done` exactly once when the call is over, from the thread that the stub or the clock
// completes on, or before it returns. `environment` outlives the call until `done` is called.
void StartCall(const CallEnvironment& environment, CallSettings settings, std::stop_token stop,
               AsyncMessages messages, CallDone done);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_CALL_H_
