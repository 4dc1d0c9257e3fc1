// What winnow-server does once it knows its configuration: starts, watches the device, stops.

#ifndef WINNOW_SERVER_APP_SERVE_H_
#define WINNOW_SERVER_APP_SERVE_H_

#include "server/app/server.h"
#include "server/app/server_config.h"

namespace winnow::server {

// Exit codes, for whoever restarts the process.
inline constexpr int kExitOk = 0;          // drained
inline constexpr int kExitFailed = 1;      // did not start: the same start fails again
inline constexpr int kExitUsage = 2;       // bad flags
inline constexpr int kExitDeviceLost = 3;  // served and lost its device: a new process helps

// Serves until a signal or a peer ends it, or the device is lost: then readiness turns off, what is
// outstanding fails with UNAVAILABLE, and it returns within about two seconds. Returns the exit
// code; what went wrong is on standard error. Call it before other threads are started: it takes
// SIGTERM and SIGINT, and SIGUSR1 and SIGUSR2 for the log's level.
int Serve(const ServerConfig& config, const BackendOpener& open_backend = OpenBackend);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_SERVE_H_
