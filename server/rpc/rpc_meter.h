// Counts the calls of one method, or the commands of a stream, by status code and duration.

#ifndef WINNOW_SERVER_RPC_RPC_METER_H_
#define WINNOW_SERVER_RPC_RPC_METER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/base/metrics.h"
#include "server/rpc/error_journal.h"

namespace winnow::server {

// Thread safety: safe to call from several threads.
class RpcMeter {
 public:
  // `name` is the full method name without its leading slash. `metrics` and `journal`, which may be
  // null, outlive the meter.
  RpcMeter(std::string name, MetricsRegistry& metrics, ErrorJournal* journal = nullptr);

  const std::string& name() const { return name_; }
  int64_t ok_count() const { return ok_count_->value(); }
  int64_t error_count() const { return error_count_.load(std::memory_order_relaxed); }
  const Histogram& durations() const { return *durations_; }
  // Calls whose reply gRPC has not sent yet; of a stream, answers.
  int64_t in_flight() const { return in_flight_.load(std::memory_order_acquire); }

  // Events of a call: it arrived, its reply was handed to gRPC, gRPC has let go of it.
  void OnArrival() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void OnReply(const absl::Status& status, absl::Duration duration);
  void OnGone() { in_flight_.fetch_sub(1, std::memory_order_release); }

 private:
  static constexpr int kCodes = 17;  // of gRPC, Ok included
  void OnError(const absl::Status& status);

  const std::string name_;
  MetricsRegistry& metrics_;
  ErrorJournal* const journal_;
  Counter* const ok_count_;
  std::atomic<int64_t> error_count_{0};
  std::array<std::atomic<Counter*>, kCodes> code_counts_{};  // made when a code is first seen
  Histogram* const durations_;
  std::atomic<int64_t> in_flight_{0};
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_RPC_METER_H_
