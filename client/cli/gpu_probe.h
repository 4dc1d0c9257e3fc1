// How winnow probe --deep tries memory of the server's GPU: as an engine would, from this process.

#ifndef WINNOW_CLIENT_CLI_GPU_PROBE_H_
#define WINNOW_CLIENT_CLI_GPU_PROBE_H_

#include "absl/time/time.h"
#include "client/cli/deep_probe.h"
#include "client/cli/session.h"

namespace winnow::cli {

// Import and export, by handle and by descriptor; says so where one cannot be tried. Each call may
// take `timeout`.
void ProbeGpuMemory(const Session& session, absl::Duration timeout, Findings& findings);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_GPU_PROBE_H_
