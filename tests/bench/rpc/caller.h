// The client side of rpc_bench: one thread that makes the same calls to any of the servers, one
// after another or several at a time.

#ifndef WINNOW_TESTS_BENCH_RPC_CALLER_H_
#define WINNOW_TESTS_BENCH_RPC_CALLER_H_

#include <memory>
#include <string>
#include <vector>

namespace winnow::testing {

// Ends the process with a message when a call fails. Thread safety: none.
class Caller {
 public:
  virtual ~Caller() = default;
  // Round trips of `calls` calls, one after another, in microseconds, appended.
  virtual void Latencies(int calls, std::vector<double>& micros) = 0;
  // Makes `calls` calls with `in_flight` of them at any time; calls a second.
  virtual double Rate(int calls, int in_flight) = 0;
};

// `style`: "unary" (TopK) or "stream" (ExecuteStream with one TopK a command). Connects to a gRPC
// target.
std::unique_ptr<Caller> MakeCaller(const std::string& style, const std::string& target);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_BENCH_RPC_CALLER_H_
