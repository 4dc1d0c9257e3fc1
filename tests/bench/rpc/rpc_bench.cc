// Round trips of the smallest TopK against a bare gRPC echo of the same API style, messages and
// transport, measured in turns in one run. Prints CSV: latencies, what Winnow adds to the median
// (own_cost), calls a second, and their ratio to the echo's.
//
//   rpc_bench --server=PATH/winnow-server [--calls=20000] [--transport=unix|tcp]
//             [--style=unary|stream] [--in-flight=1|16|64] [--only=echo|winnow]
//
// Excluded: connecting and the first thousand calls to each server. Both servers are processes of
// their own with one completion queue; the client is one thread.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/rpc/caller.h"
#include "tests/bench/rpc/echo_server.h"

namespace winnow::testing {
namespace {

struct Options {
  std::string server;
  int calls = 20'000;
  std::vector<std::string> transports = {"unix", "tcp"};
  std::vector<std::string> styles = {"unary", "stream"};
  std::vector<int> in_flight = {1, 16, 64};
  std::string only;  // a server to call again and again, for a profiler; empty: measure both
};

class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      execv(argv[0], argv.data());
      _exit(127);
    }
  }
  ~Process() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

// A port of the loopback interface that is free now.
int FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(probe, generic, size) == 0 && getsockname(probe, generic, &size) == 0;
  close(probe);
  return bound ? ntohs(address.sin_port) : 0;
}

double Quantile(std::vector<double>& values, double quantile) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(quantile * static_cast<double>(values.size() - 1))];
}

void MeasureLatency(const char* label, Caller* const* callers, int calls) {
  constexpr int kRounds = 20;
  const char* names[] = {"echo", "winnow"};
  std::vector<double> micros[2];
  for (int i = 0; i < 2; ++i) {
    callers[i]->Latencies(1000, micros[i]);
    micros[i].clear();
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 2; ++i) callers[i]->Latencies(calls / kRounds, micros[i]);
  }
  for (int i = 0; i < 2; ++i) {
    std::printf("latency,%s,%s,1,%.1f,%.1f,,\n", label, names[i], Quantile(micros[i], 0.5),
                Quantile(micros[i], 0.99));
  }
  std::printf("own_cost,%s,winnow,1,%.1f,,,\n", label,
              Quantile(micros[1], 0.5) - Quantile(micros[0], 0.5));
}

void MeasureRate(const char* label, Caller* const* callers, int in_flight, int calls) {
  constexpr int kRounds = 7;
  std::vector<double> rates[2];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 2; ++i) rates[i].push_back(callers[i]->Rate(calls / 4, in_flight));
  }
  const double echo = Quantile(rates[0], 0.5), winnow = Quantile(rates[1], 0.5);
  std::printf("rate,%s,echo,%d,,,%.0f,\n", label, in_flight, echo);
  std::printf("rate,%s,winnow,%d,,,%.0f,%.2f\n", label, in_flight, winnow, winnow / echo);
}

void Measure(const Options& options, const std::string& echo, const std::string& winnow,
             const std::string& transport) {
  for (const std::string& style : options.styles) {
    const std::unique_ptr<Caller> echo_caller = MakeCaller(style, echo);
    const std::unique_ptr<Caller> winnow_caller = MakeCaller(style, winnow);
    Caller* const callers[] = {echo_caller.get(), winnow_caller.get()};
    const std::string label = transport + "," + style;
    if (!options.only.empty()) {
      Caller& caller = options.only == "echo" ? *echo_caller : *winnow_caller;
      std::printf("rate,%s,%s,%d,,,%.0f,\n", label.c_str(), options.only.c_str(),
                  options.in_flight[0], caller.Rate(options.calls, options.in_flight[0]));
      continue;
    }
    MeasureLatency(label.c_str(), callers, options.calls);
    for (const int in_flight : options.in_flight) {
      MeasureRate(label.c_str(), callers, in_flight, options.calls);
    }
    std::fflush(stdout);
  }
}

bool ParseOption(const std::string& argument, Options& options) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
  if (name == "--server")
    options.server = value;
  else if (name == "--calls")
    options.calls = std::atoi(value.c_str());
  else if (name == "--transport")
    options.transports = {value};
  else if (name == "--style")
    options.styles = {value};
  else if (name == "--in-flight")
    options.in_flight = {std::atoi(value.c_str())};
  else if (name == "--only")
    options.only = value;
  else
    return false;
  return true;
}

int Run(const Options& options, const char* self) {
  char folder[] = "/tmp/winnow_rpc_bench.XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::string echo_socket = std::string("unix:") + folder + "/echo";
  const std::string winnow_socket = std::string("unix:") + folder + "/winnow";
  const std::string echo_port = "127.0.0.1:" + std::to_string(FreePort());
  const std::string winnow_port = "127.0.0.1:" + std::to_string(FreePort());
  {
    Process echo({self, "--serve-echo", echo_socket, echo_port});
    Process winnow({options.server, "--backend=cpu", "--log-level=error",
                    "--listen=" + winnow_socket, "--listen=" + winnow_port});
    std::printf("kind,transport,style,server,in_flight,p50_us,p99_us,calls_per_second,ratio\n");
    for (const std::string& transport : options.transports) {
      if (transport == "unix") Measure(options, echo_socket, winnow_socket, transport);
      if (transport == "tcp") Measure(options, echo_port, winnow_port, transport);
    }
  }
  for (const char* name : {"/echo", "/winnow", "/winnow.lock", "/winnow.fd"}) {
    unlink((std::string(folder) + name).c_str());
  }
  rmdir(folder);
  return 0;
}

int Main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--serve-echo") == 0) {
    return ServeEcho(std::vector<std::string>(argv + 2, argv + argc));
  }
  Options options;
  bool usable = true;
  for (int i = 1; i < argc; ++i) usable = ParseOption(argv[i], options) && usable;
  if (!usable || options.server.empty() || options.calls < 1000) {
    std::fprintf(stderr,
                 "usage: rpc_bench --server=PATH/winnow-server [--calls=20000]\n"
                 "                 [--transport=unix|tcp] [--style=unary|stream] [--in-flight=N]\n"
                 "                 [--only=echo|winnow]\n");
    return 2;
  }
  return Run(options, argv[0]);
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
