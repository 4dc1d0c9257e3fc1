#include "tests/bench/rpc/measurement.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace winnow::testing {

void BenchFails(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

double QuantileOf(std::vector<double>& values, double quantile) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(quantile * static_cast<double>(values.size() - 1))];
}

BenchProcess::BenchProcess(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
}

BenchProcess::~BenchProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace winnow::testing
