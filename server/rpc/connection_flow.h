// Which connection a call came on, as a flow for the scheduler.

#ifndef WINNOW_SERVER_RPC_CONNECTION_FLOW_H_
#define WINNOW_SERVER_RPC_CONNECTION_FLOW_H_

#include <cstdint>

struct grpc_call;

namespace winnow::server {

// Equal for calls of one connection and different for connections that are open at one time. Never
// the number of a lease. The name of a peer would not do: all peers on a Unix socket have the same.
int64_t ConnectionFlow(grpc_call* call);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_CONNECTION_FLOW_H_
