// Metrics of what the server is and has: queue, launches, memory, leases, device. Those of requests
// are in server/rpc (rpc_meter.h, stage_meter.h, error_journal.h). The list is in
// docs/metrics.md.

#ifndef WINNOW_SERVER_APP_SERVER_METRICS_H_
#define WINNOW_SERVER_APP_SERVER_METRICS_H_

#include "server/base/metrics.h"
#include "server/rpc/rpc_environment.h"

namespace winnow::server {

// `environment`, and the backend, scheduler and ledger in it, must exist whenever metrics.Text() is
// called.
void RegisterServerMetrics(const RpcEnvironment& environment, MetricsRegistry& metrics);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_SERVER_METRICS_H_
