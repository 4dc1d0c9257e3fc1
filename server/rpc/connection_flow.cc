#include "server/rpc/connection_flow.h"

#include "grpc/grpc_security.h"
#include "server/rpc/request_resources.h"

namespace winnow::server {

int64_t ConnectionFlow(grpc_call* call) {
  // gRPC makes one for each connection, whatever the credentials; calls share it.
  grpc_auth_context* const of_connection = grpc_call_auth_context(call);
  const auto number = static_cast<int64_t>(reinterpret_cast<uintptr_t>(of_connection));
  grpc_auth_context_release(of_connection);
  return kFirstConnectionFlow + number;
}

}  // namespace winnow::server
