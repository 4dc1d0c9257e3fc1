// Doubles of the seams below a connection: what a stub answers and when time passes is the test's
// choice.

#ifndef WINNOW_TESTS_CLIENT_FAKES_H_
#define WINNOW_TESTS_CLIENT_FAKES_H_

#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "client/src/clock.h"
#include "client/src/stub.h"
#include "winnow/kernels/error.h"

namespace winnow::client {

// Time passes only when someone waits, and then at once: a wait moves the time by its delay, a
// stopped one not at all. Records the waits. Thread safety: one thread at a time.
class FakeClock final : public Clock {
 public:
  absl::Time Now() const override { return now; }
  void After(absl::Duration delay, std::stop_token stop,
             absl::AnyInvocable<void() &&> done) override {
    waits.push_back(delay);
    if (before_wait) before_wait();
    if (!stop.stop_requested()) now += delay;
    std::move(done)();
  }

  absl::Time now = absl::FromUnixSeconds(1'000'000);
  std::vector<absl::Duration> waits;
  std::function<void()> before_wait;
};

// Answers with the statuses of `script`, in order, and then with Ok. Records what it was asked.
class FakeStub final : public Stub {
 public:
  struct Asked {
    std::string method;
    absl::Duration timeout;
    bool wait_for_ready;
    Metadata metadata;
    std::string request;  // serialized
  };

  absl::Status Call(const std::string& method, const AttemptOptions& options,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite& response) override {
    asked.push_back({method, options.timeout, options.wait_for_ready, *options.metadata,
                     request.SerializeAsString()});
    if (during_call) during_call();
    if (script.empty()) {
      if (!response_bytes.empty()) response.ParseFromString(response_bytes);
      return absl::OkStatus();
    }
    absl::Status status = script.front();
    script.pop_front();
    return status;
  }

  void AsyncCall(const std::string& method, const AttemptOptions& options,
                 const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite& response,
                 absl::AnyInvocable<void(absl::Status) &&> done) override {
    std::move(done)(Call(method, options, request, response));
  }

  std::unique_ptr<MessageStream> OpenStream(const std::string&, const AttemptOptions&) override {
    std::abort();  // no test of unary calls opens one
  }

  bool IsConnected() const override { return connected; }

  bool connected = true;
  std::deque<absl::Status> script;
  std::string response_bytes;         // of the calls that succeed
  std::function<void()> during_call;  // before the answer
  std::vector<Asked> asked;
};

inline absl::Status QueueFull(int64_t retry_after_millis = 0) {
  return MakeError(absl::StatusCode::kResourceExhausted, "the queue is full",
                   {.reason = ErrorReason::kQueueFull, .retry_after_millis = retry_after_millis});
}
inline absl::Status Draining() {
  return MakeError(absl::StatusCode::kUnavailable, "the server is shutting down",
                   {.reason = ErrorReason::kServerDraining});
}

}  // namespace winnow::client

#endif  // WINNOW_TESTS_CLIENT_FAKES_H_
