// Log lines for requests that took long, with the trace that they belong to.

#ifndef WINNOW_SERVER_RPC_SLOW_REQUEST_LOG_H_
#define WINNOW_SERVER_RPC_SLOW_REQUEST_LOG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"

namespace winnow::server {

// From now on requests that take longer are logged; 0 or less: none, as at the start. Of the whole
// process, like the log's level. Thread safety: all functions here may be called from several
// threads.
void SetSlowRequestThreshold(absl::Duration threshold);

// One relaxed load: for every request.
bool IsSlowRequest(absl::Duration duration);

// Writes "slow request" with method, code, milliseconds, peer, and the trace and span of the W3C
// `traceparent` that the caller sent. At most ten lines a second; the next one says how many were
// left out.
void LogSlowRequest(absl::string_view method, const absl::Status& status, absl::Duration duration,
                    const grpc::ServerContext& context);

// The two ids of a traceparent, as hexadecimal digits; both empty when it is malformed, so that a
// caller cannot write what it likes into the log.
struct TraceIds {
  std::string trace, span;
};
TraceIds ParseTraceparent(absl::string_view text);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_SLOW_REQUEST_LOG_H_
