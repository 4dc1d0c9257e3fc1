// A bare gRPC echo with the API style of winnow-server: asynchronous, one completion queue, one
// polling thread, unary and stream. It parses the request and answers with a fixed reply as large
// as a real one. What Winnow adds to gRPC is measured against it.

#ifndef WINNOW_TESTS_BENCH_RPC_ECHO_SERVER_H_
#define WINNOW_TESTS_BENCH_RPC_ECHO_SERVER_H_

#include <string>
#include <vector>

namespace winnow::testing {

// Serves TopK and ExecuteStream on gRPC addresses until the process ends; returns only when it
// cannot listen.
int ServeEcho(const std::vector<std::string>& addresses);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_BENCH_RPC_ECHO_SERVER_H_
