// Round trips of the smallest TopK against a bare gRPC echo of the same API style, messages and
// transport, measured in turns in one run. Prints CSV: latencies, what Winnow adds to the median
// (own_cost), calls a second, and their ratio to the echo's.
//
// winnow-server looks for its next event for a moment before it sleeps, which hides some of its own
// cost; and it turns the search for deadlocks off that distributions build into abseil. So there
// are two echoes: "echo" is as gRPC is by itself, and "polling_echo" is set up as winnow-server is.
// own_cost and ratio are against the latter.
//
//   rpc_bench --server=PATH/winnow-server [--calls=20000] [--transport=unix|tcp]
//             [--style=unary|stream] [--in-flight=1|16|64] [--only=echo|polling_echo|winnow]
//
// Excluded: connecting and the first thousand calls to each server. All servers are processes of
// their own with one completion queue; the client is one thread.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/rpc/caller.h"
#include "tests/bench/rpc/echo_server.h"
#include "tests/bench/rpc/measurement.h"

namespace winnow::testing {
namespace {

struct Options {
  std::string server;
  int calls = 20'000;
  std::vector<std::string> transports = {"unix", "tcp"};
  std::vector<std::string> styles = {"unary", "stream"};
  std::vector<int> in_flight = {1, 16, 64};
  std::string only;  // a server to call again and again, for a profiler; empty: measure all
};

// The servers in the order of their turns.
constexpr const char* kServers[] = {"echo", "polling_echo", "winnow"};
constexpr int kServerCount = 3, kPollingEcho = 1, kWinnow = 2;
using Targets = std::array<std::string, kServerCount>;
using Callers = std::array<std::unique_ptr<Caller>, kServerCount>;

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

void MeasureLatency(const char* label, const Callers& callers, int calls) {
  constexpr int kRounds = 20;
  std::vector<double> micros[kServerCount];
  for (int i = 0; i < kServerCount; ++i) {
    callers[i]->Latencies(1000, micros[i]);
    micros[i].clear();
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kServerCount; ++i) callers[i]->Latencies(calls / kRounds, micros[i]);
  }
  for (int i = 0; i < kServerCount; ++i) {
    std::printf("latency,%s,%s,1,%.1f,%.1f,,\n", label, kServers[i], QuantileOf(micros[i], 0.5),
                QuantileOf(micros[i], 0.99));
  }
  std::printf("own_cost,%s,winnow,1,%.1f,,,\n", label,
              QuantileOf(micros[kWinnow], 0.5) - QuantileOf(micros[kPollingEcho], 0.5));
}

void MeasureRate(const char* label, const Callers& callers, int in_flight, int calls) {
  constexpr int kRounds = 7;
  std::vector<double> rates[kServerCount];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kServerCount; ++i) {
      rates[i].push_back(callers[i]->Rate(calls / 4, in_flight));
    }
  }
  const double echo = QuantileOf(rates[kPollingEcho], 0.5);
  for (int i = 0; i < kServerCount; ++i) {
    const double rate = QuantileOf(rates[i], 0.5);
    std::printf("rate,%s,%s,%d,,,%.0f,%.2f\n", label, kServers[i], in_flight, rate, rate / echo);
  }
}

void Measure(const Options& options, const Targets& targets, const std::string& transport) {
  for (const std::string& style : options.styles) {
    Callers callers;
    for (int i = 0; i < kServerCount; ++i) callers[i] = MakeCaller(style, targets[i]);
    const std::string label = transport + "," + style;
    if (options.only.empty()) MeasureLatency(label.c_str(), callers, options.calls);
    for (const int in_flight : options.in_flight) {
      if (options.only.empty()) MeasureRate(label.c_str(), callers, in_flight, options.calls);
    }
    for (int i = 0; i < kServerCount; ++i) {
      if (options.only != kServers[i]) continue;
      std::printf("rate,%s,%s,%d,,,%.0f,\n", label.c_str(), kServers[i], options.in_flight[0],
                  callers[i]->Rate(options.calls, options.in_flight[0]));
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
  Targets sockets, ports;
  for (int i = 0; i < kServerCount; ++i) {
    sockets[i] = std::string("unix:") + folder + "/" + kServers[i];
    ports[i] = "127.0.0.1:" + std::to_string(FreePort());
  }
  {
    BenchProcess echo({self, "--serve-echo", sockets[0], ports[0]});
    BenchProcess polling_echo({self, "--serve-polling-echo", sockets[1], ports[1]});
    BenchProcess winnow({options.server, "--backend=cpu", "--log-level=error",
                         "--listen=" + sockets[2], "--listen=" + ports[2]});
    std::printf("kind,transport,style,server,in_flight,p50_us,p99_us,calls_per_second,ratio\n");
    for (const std::string& transport : options.transports) {
      if (transport == "unix") Measure(options, sockets, transport);
      if (transport == "tcp") Measure(options, ports, transport);
    }
  }
  for (const char* name : {"/echo", "/polling_echo", "/winnow", "/winnow.lock", "/winnow.fd"}) {
    unlink((std::string(folder) + name).c_str());
  }
  rmdir(folder);
  return 0;
}

int Main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  if (mode == "--serve-echo" || mode == "--serve-polling-echo") {
    return ServeEcho(std::vector<std::string>(argv + 2, argv + argc),
                     mode == "--serve-echo" ? EchoPolling::kBare : EchoPolling::kAsWinnow);
  }
  Options options;
  bool usable = true;
  for (int i = 1; i < argc; ++i) usable = ParseOption(argv[i], options) && usable;
  if (!usable || options.server.empty() || options.calls < 1000) {
    std::fprintf(stderr,
                 "usage: rpc_bench --server=PATH/winnow-server [--calls=20000]\n"
                 "                 [--transport=unix|tcp] [--style=unary|stream] [--in-flight=N]\n"
                 "                 [--only=echo|polling_echo|winnow]\n");
    return 2;
  }
  return Run(options, argv[0]);
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
