#include "server/rpc/request_ordering.h"

#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/rpc/decode_duration.h"
#include "server/rpc/request_scope.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr absl::Duration kLongestWait = absl::Seconds(10);
constexpr int64_t kWordBytes = 4;

absl::Status DecodeWord(const v1::SequenceWord& word, RequestResources* resources,
                        std::byte*& address, uint32_t& value) {
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kValueOutOfRange, "value", word.value(), 0,
                                      std::numeric_limits<uint32_t>::max()));
  if (!word.has_word()) return MissingField("word", "an ordering needs its place");
  if (resources == nullptr) return MissingField("lease_id", "resources belong to a lease");
  const int64_t offset = word.word().offset_bytes();
  if (offset % kWordBytes != 0) {
    return InvalidField(ErrorReason::kAlignmentInvalid, "word.offset_bytes", offset,
                        "multiples of 4");
  }
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> buffer,
                          resources->FindBuffer("word.buffer", word.word().buffer()));
  if (offset < 0 || offset > buffer->size_bytes() - kWordBytes) {
    return InvalidField(ErrorReason::kRangeOutOfBounds, "word.offset_bytes", offset,
                        absl::StrCat("0 to ", buffer->size_bytes() - kWordBytes));
  }
  if (buffer->read_only()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "word.buffer was imported read-only; a word may have to be set",
                     {.reason = ErrorReason::kFieldsConflict, .field = "word.buffer"});
  }
  address = buffer->data() + offset;
  value = static_cast<uint32_t>(word.value());
  return absl::OkStatus();
}

absl::Status DecodeTimeout(const v1::Ordering& ordering, WorkOrdering& decoded) {
  if (!ordering.has_wait_timeout_duration()) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(decoded.wait_timeout, DecodeDuration("wait_timeout_duration",
                                                               ordering.wait_timeout_duration()));
  if (decoded.wait_timeout <= kLongestWait) return absl::OkStatus();
  // In full: whole seconds would say that 10 is not up to 10.
  const std::string value = absl::FormatDuration(decoded.wait_timeout);
  const std::string limit = absl::StrCat("up to ", absl::FormatDuration(kLongestWait));
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat("wait_timeout_duration is ", value, "; this server accepts ", limit),
      {.reason = ErrorReason::kValueOutOfRange,
       .field = "wait_timeout_duration",
       .value = value,
       .limit = limit});
}

}  // namespace

absl::Status DecodeOrdering(const v1::Ordering& ordering, const DecodeLimits& limits,
                            RequestResources* resources, WorkOrdering& decoded) {
  if (!limits.ordering) {
    return MakeError(absl::StatusCode::kUnimplemented,
                     "ordering is set, but the device of this server has no words in shared memory",
                     {.reason = ErrorReason::kNotInBuild, .field = "ordering"});
  }
  absl::Status status = DecodeTimeout(ordering, decoded);
  if (!status.ok()) return WithinPart("ordering.", status);
  if (ordering.has_wait_for()) {
    status = DecodeWord(ordering.wait_for(), resources, decoded.wait_word, decoded.wait_value);
    if (!status.ok()) return WithinPart("ordering.wait_for.", status);
  }
  if (ordering.has_then_set()) {
    status = DecodeWord(ordering.then_set(), resources, decoded.set_word, decoded.set_value);
    if (!status.ok()) return WithinPart("ordering.then_set.", status);
  }
  return absl::OkStatus();
}

}  // namespace winnow::server
