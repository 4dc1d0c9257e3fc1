#include "server/rpc/decode_duration.h"

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

absl::StatusOr<absl::Duration> DecodeDuration(absl::string_view field,
                                              const google::protobuf::Duration& duration) {
  // The range of google.protobuf.Duration, without its negative half.
  constexpr int64_t kMaxSeconds = 315'576'000'000;
  if (duration.seconds() < 0 || duration.seconds() > kMaxSeconds) {
    return InvalidField(ErrorReason::kValueOutOfRange, absl::StrCat(field, ".seconds"),
                        duration.seconds(), absl::StrCat("0 to ", kMaxSeconds));
  }
  if (duration.nanos() < 0 || duration.nanos() > 999'999'999) {
    return InvalidField(ErrorReason::kValueOutOfRange, absl::StrCat(field, ".nanos"),
                        duration.nanos(), "0 to 999999999");
  }
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace winnow::server
