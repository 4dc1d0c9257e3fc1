// What the admin and health calls give.

#ifndef WINNOW_CLIENT_SERVER_INFO_H_
#define WINNOW_CLIENT_SERVER_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "winnow/client/results.h"

namespace winnow::client {

enum class ServerState : int32_t {
  kUnspecified = 0,
  kServing = 1,
  kDraining = 2,  // finishes what it has and refuses new work
  kFailed = 3,    // its device is lost; about to exit
};
// "serving" and so on; "unspecified" for numbers that are not in the enum.
absl::string_view Name(ServerState state);

struct ServerLimits {
  int32_t max_k = 0;
  int64_t max_rows = 0;          // of a request
  int64_t max_columns = 0;       // scores in a row
  int64_t max_inline_bytes = 0;  // of a request, inputs and outputs each
  int32_t max_steps = 0;         // of an Execute request
  int64_t max_queued_requests = 0;
  int64_t max_queued_bytes = 0;  // inline bytes that waiting and running requests hold
};

// What leases and requests ask of one device, now.
struct DeviceLoad {
  int64_t leased_bytes = 0;      // of the resources of its leases
  int64_t max_leased_bytes = 0;  // of all of them together
  int64_t leases = 0;
  int64_t queued_requests = 0;
  int64_t running_requests = 0;
};

struct DeviceDescription {
  std::string kind;  // "cpu" or "cuda"
  std::string name;
  int32_t ordinal = 0;             // what LeaseOptions::device names it by
  int32_t multiprocessors = 0;     // CPU: worker threads
  std::string compute_capability;  // "major.minor"; empty on the CPU
  int64_t memory_bytes = 0;
  int32_t max_cluster_size = 0;
  int32_t pool_width = 0;
  std::string pool_note;
  std::string instruction_set;         // CPU: vector instructions in use
  bool multi_process_service = false;  // the server's context is a client of CUDA's MPS
  bool shares_memory = false;          // GPU memory of other processes can be imported
  DeviceLoad load;
};

struct ServerInfo {
  std::string version;
  ServerState state = ServerState::kUnspecified;
  std::string backend_reason;
  DeviceDescription device;  // the first of devices
  std::vector<DeviceDescription> devices;
  ServerLimits limits;
  std::vector<std::string> listeners;
  absl::Time start_time = absl::InfinitePast();
  int64_t process_id = 0;
};

struct RpcStats {
  std::string method;  // "winnow.v1.IndexerService/TopK"
  int64_t ok_count = 0;
  int64_t error_count = 0;
  absl::Duration median;
  absl::Duration p99;
};

// Counters since the start, and what waits and runs now.
struct ServerStats {
  absl::Duration uptime;
  std::vector<RpcStats> rpcs;
  int64_t queued_requests = 0;
  int64_t running_requests = 0;
  int64_t queued_bytes = 0;
  int64_t launches = 0;
  int64_t launched_requests = 0;
  int64_t launched_rows = 0;
  int64_t rejected_requests = 0;   // because the queue was full
  int64_t expired_requests = 0;    // their deadline passed in the queue
  int64_t cancelled_requests = 0;  // in the queue
  int64_t faults = 0;              // requests that failed on data found bad on the device
  RouteCounts routes;
  absl::Duration device_busy;
  int64_t resident_bytes = 0;
};

struct ProbeOccupancyRequest {
  int32_t cluster_size = 1;               // a power of two, 1 to 16
  int32_t blocks_per_multiprocessor = 1;  // 1 to 32
  std::optional<int32_t> device;          // its ordinal; none: the first
};

struct DrainRequest {
  // Longest time to finish queued work; absl::InfiniteDuration() or the default leave it to the
  // server (30 seconds).
  absl::Duration timeout = absl::InfiniteDuration();
};

struct DrainResult {
  int64_t pending_requests = 0;  // waiting or running when the drain began
};

enum class LeaseState : int32_t {
  kUnspecified = 0,
  kOpen = 1,
  kWaiting = 2,  // its client's stream is lost; it waits for it until its grace ends
  kEnding = 3,   // its running work ends before its memory is released
};
// "open" and so on; "unspecified" for numbers that are not in the enum.
absl::string_view Name(LeaseState state);

// A lease as an operator sees it. Its id is not told: whoever has it can use the lease.
struct LeaseDescription {
  int64_t number = 0;  // since the server's start, from 1; what EndLease takes
  std::string display_name;
  std::string peer;  // the client's address as gRPC tells it
  LeaseState state = LeaseState::kUnspecified;
  int32_t device = 0;  // ordinal of the one that it lives on
  absl::Duration age;
  int64_t used_bytes = 0;
  int64_t buffers = 0;
  int64_t page_tables = 0;
  int64_t plans = 0;
  int64_t inflight_requests = 0;  // waiting or running
};

struct EndLeaseRequest {
  int64_t number = 0;
  std::string message;  // told to the client, at most 256 bytes
};

// Of grpc.health.v1.Health.Check.
enum class HealthStatus : int32_t {
  kUnknown = 0,
  kServing = 1,
  kNotServing = 2,
  kServiceUnknown = 3,
};
absl::string_view Name(HealthStatus status);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SERVER_INFO_H_
