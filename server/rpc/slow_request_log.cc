#include "server/rpc/slow_request_log.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/base/logging.h"

namespace winnow::server {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kNanosBetweenLines = 100'000'000;

std::atomic<int64_t> threshold_nanos{kNever};
std::atomic<int64_t> next_line_nanos{0};
std::atomic<int64_t> left_out{0};

bool IsHex(absl::string_view text, size_t size) {
  return text.size() == size && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

TraceIds TraceOf(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find("traceparent");
  if (found == context.client_metadata().end()) return {};
  return ParseTraceparent({found->second.data(), found->second.size()});
}

}  // namespace

void SetSlowRequestThreshold(absl::Duration threshold) {
  threshold_nanos.store(
      threshold > absl::ZeroDuration() ? absl::ToInt64Nanoseconds(threshold) : kNever,
      std::memory_order_relaxed);
}

bool IsSlowRequest(absl::Duration duration) {
  return absl::ToInt64Nanoseconds(duration) > threshold_nanos.load(std::memory_order_relaxed);
}

void LogSlowRequest(absl::string_view method, const absl::Status& status, absl::Duration duration,
                    const grpc::ServerContext& context) {
  const int64_t now = absl::GetCurrentTimeNanos();
  int64_t next = next_line_nanos.load(std::memory_order_relaxed);
  if (now < next || !next_line_nanos.compare_exchange_strong(next, now + kNanosBetweenLines)) {
    left_out.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const TraceIds ids = TraceOf(context);
  Log(LogLevel::kWarning, "slow request",
      {{"method", method},
       {"code", absl::StatusCodeToString(status.code())},
       {"millis", absl::StrFormat("%.3f", absl::ToDoubleMilliseconds(duration))},
       {"peer", context.peer()},
       {"trace", ids.trace},
       {"span", ids.span},
       {"left_out", left_out.exchange(0)}});
}

TraceIds ParseTraceparent(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '-');
  // Later versions may add parts; the first four stay what they are.
  if (parts.size() < 4 || !IsHex(parts[0], 2) || parts[0] == "ff" || !IsHex(parts[1], 32) ||
      !IsHex(parts[2], 16) || !IsHex(parts[3], 2) || (parts[0] == "00" && parts.size() != 4)) {
    return {};
  }
  return {std::string(parts[1]), std::string(parts[2])};
}

}  // namespace winnow::server
