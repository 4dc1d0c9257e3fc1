// Durations of the contract become absl::Duration.

#ifndef WINNOW_SERVER_RPC_DECODE_DURATION_H_
#define WINNOW_SERVER_RPC_DECODE_DURATION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace winnow::server {

// InvalidArgument (VALUE_OUT_OF_RANGE) for negative durations and for seconds or nanoseconds
// outside the range of google.protobuf.Duration; `field` is named.
absl::StatusOr<absl::Duration> DecodeDuration(absl::string_view field,
                                              const google::protobuf::Duration& duration);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_DECODE_DURATION_H_
