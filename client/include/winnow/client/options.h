// How a client connects, and how one call behaves.

#ifndef WINNOW_CLIENT_OPTIONS_H_
#define WINNOW_CLIENT_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "winnow/client/retry_policy.h"
#include "winnow/client/tls_options.h"

namespace winnow::client {

// One attempt of a call, as a CallObserver sees it.
struct AttemptReport {
  absl::string_view method;  // "/winnow.v1.IndexerService/TopK"; valid during the call only
  absl::Status status;
  absl::Duration elapsed;
};
// Called after each attempt, from the thread that made it or from the client's own one, with no
// lock held; may be called from several threads at once. Must not block.
using CallObserver = std::function<void(const AttemptReport&)>;

struct ClientOptions {
  // "unix:PATH" or "HOST:PORT" ("[::1]:7070" for IPv6). Empty: DefaultTarget().
  std::string target;
  // Of a target HOST:PORT; a Unix socket has none. Unset: TlsOptionsFromEnvironment(), which is no
  // TLS unless WINNOW_CLIENT_TLS_CA is set. An empty TlsOptions: none in any case.
  std::optional<TlsOptions> tls;
  // Of a call that says nothing else, repeats included. absl::InfiniteDuration(): none.
  absl::Duration timeout = absl::Seconds(30);
  RetryPolicy retry;
  // Sends TopK, BlockAmax, SortCandidateBlocks and Execute over one long-lived stream instead of
  // one call each: less overhead for small requests. Calls, results, errors and retries stay the
  // same, with one limit: CallOptions::metadata is refused (InvalidArgument, FIELDS_CONFLICT), for
  // a stream has none per command. All other RPCs are calls of their own either way. A stream that
  // breaks fails its calls as a broken connection does; the next attempt opens another.
  bool streaming = false;
  // Sent with every call, before the library's own: "my-engine/1.2".
  std::string user_agent;
  CallObserver observer;
};

// Of one call. Default: as the client was made.
struct CallOptions {
  std::optional<absl::Duration> timeout;  // 0 or less fails at once with DeadlineExceeded
  std::optional<RetryPolicy> retry;
  // Ends the call with Cancelled, also while it waits to repeat. Requesting stop after the call
  // ended has no effect.
  std::stop_token stop;
  // Waits for a server that does not answer yet, until the deadline, instead of failing.
  bool wait_for_ready = false;
  // Sent as gRPC metadata, e.g. {"traceparent", "00-..."}: lower-case keys of [a-z0-9_.-],
  // printable ASCII values. InvalidArgument otherwise.
  std::vector<std::pair<std::string, std::string>> metadata;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_OPTIONS_H_
