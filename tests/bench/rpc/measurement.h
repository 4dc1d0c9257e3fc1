// What the benches of whole servers share: how they fail, quantiles, processes of their own.

#ifndef WINNOW_TESTS_BENCH_RPC_MEASUREMENT_H_
#define WINNOW_TESTS_BENCH_RPC_MEASUREMENT_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace winnow::testing {

// Ends the process with a message.
[[noreturn]] void BenchFails(const std::string& what);

// The value at a quantile; sorts the values.
double QuantileOf(std::vector<double>& values, double quantile);

// Runs a program, given as its arguments, until it is destroyed.
class BenchProcess {
 public:
  explicit BenchProcess(std::vector<std::string> arguments);
  ~BenchProcess();
  BenchProcess(const BenchProcess&) = delete;
  BenchProcess& operator=(const BenchProcess&) = delete;

 private:
  pid_t pid_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_BENCH_RPC_MEASUREMENT_H_
