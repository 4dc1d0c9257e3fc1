#include "client/src/status_decoding.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"
#include "winnow/v1/error_detail.pb.h"
#include "winnow/v1/rpc_status.pb.h"

namespace winnow::client {
namespace {

// Control bytes do not belong in a field path or a number, and the payload of absl::Status
// separates its parts by one: a server that sends them must not confuse whoever reads the
// ErrorInfo.
std::string Printable(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(),
                            [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
             text.end());
  return text;
}

ErrorInfo FromProto(const v1::ErrorDetail& detail) {
  return {.reason = static_cast<ErrorReason>(detail.reason()),
          .field = Printable(detail.field()),
          .value = Printable(detail.value()),
          .limit = Printable(detail.limit()),
          .row = detail.row(),
          .retry_after_millis = std::max<int64_t>(detail.retry_after_millis(), 0)};
}

// The numbers of gRPC and abseil are the same by design.
absl::StatusCode CodeOf(int number) {
  return number >= 1 && number <= 16 ? static_cast<absl::StatusCode>(number)
                                     : absl::StatusCode::kUnknown;
}

std::optional<ErrorInfo> DecodeDetail(const std::string& details) {
  v1::RpcStatus status;
  if (details.empty() || !status.ParseFromString(details)) return std::nullopt;
  for (const google::protobuf::Any& any : status.details()) {
    v1::ErrorDetail detail;
    if (!any.Is<v1::ErrorDetail>() || !any.UnpackTo(&detail)) continue;
    return FromProto(detail);
  }
  return std::nullopt;
}

}  // namespace

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const absl::StatusCode code = CodeOf(status.error_code());
  std::optional<ErrorInfo> info = DecodeDetail(status.error_details());
  if (!info.has_value()) return absl::Status(code, status.error_message());
  return MakeError(code, status.error_message(), *std::move(info));
}

absl::Status FromAttempt(const grpc::Status& status, bool cancelled_here) {
  absl::Status decoded = FromGrpcStatus(status);
  if (cancelled_here || !absl::IsCancelled(decoded) || GetErrorInfo(decoded).has_value()) {
    return decoded;
  }
  return absl::UnavailableError(
      absl::StrCat("the server dropped the call: ", status.error_message()));
}

absl::Status FromStreamError(const v1::StreamError& error) {
  const absl::StatusCode code = CodeOf(error.code());
  if (!error.has_detail()) return absl::Status(code, error.message());
  return MakeError(code, error.message(), FromProto(error.detail()));
}

}  // namespace winnow::client
