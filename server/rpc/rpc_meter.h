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
  // Calls whose reply gRPC has not sent yet; of a stream, answers. Never fewer than those that
  // arrived before it was called: whoever is counted as gone is counted as arrived.
  int64_t in_flight() const {
    const int64_t gone = gone_.value();
    return arrived_.value() - gone;
  }

  // Events of a call: it arrived, its reply was handed to gRPC, gRPC has let go of it.
  void OnArrival() { arrived_.Add(1); }
  void OnReply(const absl::Status& status, absl::Duration duration);
  void OnGone() { gone_.Add(1); }

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
  ShardedSum arrived_, gone_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_RPC_METER_H_
