// What the RPC methods work with. Owned by the app layer, outlives the RPC server.

#ifndef WINNOW_SERVER_RPC_RPC_ENVIRONMENT_H_
#define WINNOW_SERVER_RPC_RPC_ENVIRONMENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/base/metrics.h"
#include "server/base/worker_thread.h"
#include "server/batching/scheduler.h"
#include "server/resources/descriptor_inbox.h"
#include "server/resources/lease_ledger.h"
#include "server/rpc/error_journal.h"
#include "server/rpc/lease_streams.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/rpc_meter.h"
#include "server/rpc/served_devices.h"
#include "server/rpc/stage_meter.h"

namespace winnow::server {

// The life of a server as its peers see it.
enum class ServingState : int32_t { kServing = 1, kDraining = 2, kFailed = 3 };

struct RpcEnvironment {
  std::vector<ServedDevice> devices;  // at least one, in the order of --devices
  LeaseLedger* ledger = nullptr;
  LeaseStreams* lease_streams = nullptr;
  DescriptorInbox* descriptors = nullptr;
  std::string descriptor_socket_path;  // empty: none; then imports are refused
  Clock* clock = nullptr;
  MetricsRegistry* metrics = nullptr;
  ErrorJournal* journal = nullptr;      // may be null: failures are only counted
  RpcMeter* stream_commands = nullptr;  // of ExecuteStream; set by the RPC server
  StageMeter* stream_stages = nullptr;  // likewise
  // Parses and submits requests of more than kMaxQuickBytes; set by the RPC server.
  WorkerThread* large_requests = nullptr;
  DecodeLimits limits;

  // For GetServerInfo.
  std::string version;
  SchedulerOptions queue_limits;
  std::vector<std::string> listeners;  // filled by RpcServer::Start
  absl::Time start_time;

  // Who may drain the server and end leases: peers of these listeners ("unix:PATH") alone; when
  // there are none, every peer on a Unix socket, and on TCP too if so chosen.
  std::vector<std::string> admin_listeners;
  bool tcp_admin = false;
  // Begins a drain that ends within the given time. Must not block.
  std::function<void(absl::Duration timeout)> begin_drain;

  std::atomic<ServingState> state{ServingState::kServing};
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_RPC_ENVIRONMENT_H_
