// What winnow probe --deep can see of this host without a request: the server's device, the socket,
// namespaces, shared memory.

#ifndef WINNOW_CLIENT_CLI_HOST_PROBE_H_
#define WINNOW_CLIENT_CLI_HOST_PROBE_H_

#include "client/cli/deep_probe.h"
#include "client/cli/session.h"

namespace winnow::cli {

void ProbeHost(const Session& session, Findings& findings);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_HOST_PROBE_H_
