#include "server/rpc/status_mapping.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "winnow/kernels/error.h"
#include "winnow/v1/rpc_status.pb.h"

namespace winnow::server {
namespace {

constexpr absl::string_view kDetailUrl = "type.googleapis.com/winnow.v1.ErrorDetail";

// A full queue empties within a few launches. A draining server does not come back: the time is
// what a supervisor needs to start its successor.
constexpr int64_t kQueueFullRetryMillis = 20;
constexpr int64_t kDrainingRetryMillis = 1000;

// For statuses that come from a library and not from MakeError.
ErrorReason ReasonFromCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kCancelled:
      return ErrorReason::kRequestCancelled;
    case absl::StatusCode::kDeadlineExceeded:
      return ErrorReason::kDeadlineExpired;
    case absl::StatusCode::kResourceExhausted:
      return ErrorReason::kMemoryExhausted;
    case absl::StatusCode::kUnavailable:
      return ErrorReason::kDeviceUnavailable;
    case absl::StatusCode::kUnimplemented:
      return ErrorReason::kNotInBuild;
    case absl::StatusCode::kPermissionDenied:
      return ErrorReason::kPermissionDenied;
    default:
      return ErrorReason::kInternal;
  }
}

int64_t RetryAfterMillis(ErrorReason reason) {
  if (reason == ErrorReason::kQueueFull) return kQueueFullRetryMillis;
  if (reason == ErrorReason::kServerDraining) return kDrainingRetryMillis;
  return 0;
}

v1::ErrorDetail DetailOf(const absl::Status& status) {
  v1::ErrorDetail detail;
  ErrorInfo info =
      GetErrorInfo(status).value_or(ErrorInfo{.reason = ReasonFromCode(status.code())});
  detail.set_reason(static_cast<v1::ErrorReason>(info.reason));
  detail.set_field(std::move(info.field));
  detail.set_value(std::move(info.value));
  detail.set_limit(std::move(info.limit));
  detail.set_row(info.row);
  detail.set_retry_after_millis(info.retry_after_millis > 0 ? info.retry_after_millis
                                                            : RetryAfterMillis(info.reason));
  return detail;
}

}  // namespace

void EncodeStreamError(const absl::Status& status, v1::StreamError& encoded) {
  encoded.set_code(static_cast<int32_t>(status.code()));
  encoded.set_message(std::string(status.message()));
  *encoded.mutable_detail() = DetailOf(status);
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::RpcStatus envelope;
  envelope.set_code(static_cast<int32_t>(status.code()));
  envelope.set_message(std::string(status.message()));
  auto* any = envelope.add_details();
  any->set_type_url(std::string(kDetailUrl));
  any->set_value(DetailOf(status).SerializeAsString());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      envelope.SerializeAsString());
}

std::optional<v1::ErrorDetail> GetErrorDetail(const grpc::Status& status) {
  v1::RpcStatus envelope;
  if (status.error_details().empty() || !envelope.ParseFromString(status.error_details())) {
    return std::nullopt;
  }
  for (const auto& any : envelope.details()) {
    v1::ErrorDetail detail;
    if (any.type_url() == kDetailUrl && detail.ParseFromString(any.value())) return detail;
  }
  return std::nullopt;
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  const std::optional<v1::ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value()) return absl::Status(code, status.error_message());
  return MakeError(code, status.error_message(),
                   {.reason = static_cast<ErrorReason>(detail->reason()),
                    .field = detail->field(),
                    .value = detail->value(),
                    .limit = detail->limit(),
                    .row = detail->row(),
                    .retry_after_millis = detail->retry_after_millis()});
}

}  // namespace winnow::server
