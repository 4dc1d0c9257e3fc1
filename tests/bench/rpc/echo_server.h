// A bare gRPC echo with the API style of winnow-server: asynchronous, completion queues with one
// polling thread each, unary and stream. It parses the request and answers with a fixed reply as
// large as a real one. What Winnow adds to gRPC is measured against it.

#ifndef WINNOW_TESTS_BENCH_RPC_ECHO_SERVER_H_
#define WINNOW_TESTS_BENCH_RPC_ECHO_SERVER_H_

#include <string>
#include <vector>

namespace winnow::testing {

// How a queue waits for its next event: asleep at once, or as that of winnow-server does, which
// looks for a moment before (server/rpc/server_queue.h) and has abseil's search for deadlocks off.
enum class EchoPolling { kBare, kAsWinnow };

// Serves TopK and ExecuteStream on gRPC addresses, on `queues` completion queues, until the process
// ends; returns only when it cannot listen.
int ServeEcho(const std::vector<std::string>& addresses, EchoPolling polling, int queues = 1);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_BENCH_RPC_ECHO_SERVER_H_
