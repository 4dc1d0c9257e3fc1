#include "server/app/server_config.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "server/app/listener.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

struct Range {
  absl::string_view flag;
  int64_t value;
  int64_t low;
  int64_t high;
};

absl::Status Check(const Range& range) {
  if (range.value >= range.low && range.value <= range.high) return absl::OkStatus();
  return InvalidField(ErrorReason::kValueOutOfRange, range.flag, range.value,
                      absl::StrCat(range.low, " to ", range.high));
}

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kTiB = int64_t{1} << 40;
// A message is at most 2 GiB on the wire, and a request holds inputs with gaps and what surrounds
// them.
constexpr int64_t kMaxInlineBytes = 1000 * kMiB;

}  // namespace

absl::Status ServerConfig::Validate() const {
  if (backend != "auto" && backend != "cuda" && backend != "cpu") {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("--backend is \"", backend, "\"; it takes auto, cuda or cpu"),
                     {.reason = ErrorReason::kValueOutOfRange,
                      .field = "--backend",
                      .value = backend,
                      .limit = "auto, cuda or cpu"});
  }
  for (const std::string& listener : listeners) {
    WINNOW_RETURN_IF_ERROR(ParseListener(listener).status());
  }
  const Range ranges[] = {
      {"--device", device, 0, 1023},
      {"--threads", threads, 0, 1024},
      {"--launch-slots", launch_slots, 1, 64},
      {"--queues", queues, 0, 64},
      {"--max-inline-bytes", max_inline_bytes, 1024, kMaxInlineBytes},
      {"--max-queued-requests", max_queued_requests, 1, 1'000'000},
      {"--max-queued-bytes", max_queued_bytes, max_inline_bytes, kTiB},
      {"--max-concurrent-streams", max_concurrent_streams, 1, 1'000'000},
      {"--max-batch-requests", max_batch_requests, 1, kMaxSegments},
      {"--max-batch-rows", max_batch_rows, 1, 1'000'000},
      {"--max-batch-bytes", max_batch_bytes, 1024, kTiB},
      {"--buffer-pool-bytes", buffer_pool_bytes, 0, kTiB},
      {"--staging-pool-bytes", staging_pool_bytes, kMiB, kTiB},
      {"--max-leases", max_leases, 0, 1'000'000},
      {"--max-lease-bytes", max_lease_bytes, 0, kTiB},
      {"--max-lease-resources", max_lease_resources, 0, 1'000'000},
      {"--max-lease-requests", max_lease_requests, 1, 1'000'000},
      {"--max-resume-grace", absl::ToInt64Seconds(max_resume_grace), 0, 86'400},
      {"--drain-timeout", absl::ToInt64Seconds(drain_timeout), 0, 86'400},
  };
  for (const Range& range : ranges) WINNOW_RETURN_IF_ERROR(Check(range));
  return absl::OkStatus();
}

}  // namespace winnow::server
