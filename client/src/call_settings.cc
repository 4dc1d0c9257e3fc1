#include "client/src/call_settings.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/src/channel.h"
#include "client/src/tls_credentials.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

absl::Status BadOption(std::string field, std::string value, absl::string_view limit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(field, " is ", value, "; it must be ", limit),
                   {.reason = ErrorReason::kValueOutOfRange,
                    .field = std::move(field),
                    .value = std::move(value),
                    .limit = std::string(limit)});
}

absl::Status CheckRetry(const RetryPolicy& retry) {
  if (retry.initial_backoff < absl::ZeroDuration()) {
    return BadOption("retry.initial_backoff", absl::FormatDuration(retry.initial_backoff),
                     "0 or more");
  }
  if (retry.max_backoff < retry.initial_backoff || retry.max_backoff == absl::InfiniteDuration()) {
    return BadOption("retry.max_backoff", absl::FormatDuration(retry.max_backoff),
                     "finite and at least initial_backoff");
  }
  if (!(retry.multiplier >= 1.0) || !std::isfinite(retry.multiplier)) {
    return BadOption("retry.multiplier", absl::StrCat(retry.multiplier), "finite and at least 1");
  }
  return absl::OkStatus();
}

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isprint);
}

bool IsKey(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_' || c == '-' || c == '.';
  });
}

// gRPC ends the process on a key or value that HTTP/2 cannot carry.
absl::Status CheckMetadata(const Metadata& metadata) {
  for (size_t i = 0; i < metadata.size(); ++i) {
    const auto& [key, value] = metadata[i];
    const std::string field = absl::StrCat("metadata[", i, "]");
    if (!IsKey(key) || absl::StartsWith(key, "grpc-")) {
      return BadOption(absl::StrCat(field, " key"), IsPrintable(key) ? key : "not printable",
                       "of a-z, 0-9, _, - and ., and not start with grpc-");
    }
    if (!IsPrintable(value)) {
      return BadOption(absl::StrCat(field, " value"), "not printable", "printable ASCII");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const ClientOptions& options) {
  WINNOW_RETURN_IF_ERROR(CheckTarget(options.target));
  WINNOW_RETURN_IF_ERROR(CheckTls(EffectiveTls(options), options.target));
  if (options.timeout <= absl::ZeroDuration()) {
    return BadOption("timeout", absl::FormatDuration(options.timeout), "more than 0");
  }
  if (!IsPrintable(options.user_agent)) {
    return BadOption("user_agent", "not printable", "printable ASCII");
  }
  return CheckRetry(options.retry);
}

absl::StatusOr<CallSettings> MakeCallSettings(const ClientOptions& defaults,
                                              const CallOptions& options, const char* method,
                                              Repeat repeat) {
  const RetryPolicy& retry = options.retry.has_value() ? *options.retry : defaults.retry;
  WINNOW_RETURN_IF_ERROR(CheckRetry(retry));
  WINNOW_RETURN_IF_ERROR(CheckMetadata(options.metadata));
  return CallSettings{.method = method,
                      .timeout = options.timeout.value_or(defaults.timeout),
                      .retry = repeat == Repeat::kNever ? RetryPolicy::Never() : retry,
                      .wait_for_ready = options.wait_for_ready,
                      .metadata = options.metadata,
                      .repeat = repeat};
}

}  // namespace winnow::client
