// What the HTTP listener serves: metrics, health, and a status page for people.
//
//   /metrics      Prometheus text          /healthz   200 while the process runs
//   /             the status page          /readyz    200 while the server accepts work, else 503
//   /status.json  what the page shows
//
// On listeners beyond loopback only /metrics, /healthz and /readyz: the others name leases and show
// errors.

#ifndef WINNOW_SERVER_APP_PAGES_H_
#define WINNOW_SERVER_APP_PAGES_H_

#include "server/app/http_message.h"
#include "server/base/metrics.h"
#include "server/rpc/error_journal.h"
#include "server/rpc/rpc_environment.h"

namespace winnow::server {

// `environment` and all that it points to must exist. Safe to call from several threads.
HttpResponse ServePage(const HttpRequest& request, bool exposed, const RpcEnvironment& environment);

// Server, device, queue, leases and latest failures as JSON.
std::string StatusJson(const RpcEnvironment& environment);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_PAGES_H_
