// Round trips of the smallest TopK against a bare gRPC echo of the same API style, messages and
// transport, measured in turns. Prints CSV: latencies, and calls a second with so many in flight.
// rpc_rounds.py makes a table of it.
//
// winnow-server looks for its next event for a moment before it sleeps, which hides some of its own
// cost; and it turns the search for deadlocks off that distributions build into abseil. So there
// are two echoes: "echo" is as gRPC is by itself, and "polling_echo" is set up as winnow-server is.
//
// A round starts all servers anew. Where the scheduler places the threads of a server and its
// client lasts for much of a round and moves the median of any of them by up to 70 us: several
// rounds tell the servers apart, one does not.
//
//   rpc_bench --server=PATH/winnow-server [--rounds=1] [--calls=20000] [--transport=unix|tcp]
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
  int rounds = 1;
  int calls = 20'000;
  std::vector<std::string> transports = {"unix", "tcp"};
  std::vector<std::string> styles = {"unary", "stream"};
  std::vector<int> in_flight = {1, 16, 64};
  std::string only;  // a server to call again and again, for a profiler; empty: measure all
};

// The servers in the order of their turns.
constexpr const char* kServers[] = {"echo", "polling_echo", "winnow"};
constexpr int kServerCount = 3;
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
    std::printf("%s,%s,1,latency,%.1f,%.1f,\n", label, kServers[i], QuantileOf(micros[i], 0.5),
                QuantileOf(micros[i], 0.99));
  }
}

void MeasureRate(const char* label, const Callers& callers, int in_flight, int calls) {
  constexpr int kRounds = 7;
  std::vector<double> rates[kServerCount];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kServerCount; ++i) {
      rates[i].push_back(callers[i]->Rate(calls / 4, in_flight));
    }
  }
  for (int i = 0; i < kServerCount; ++i) {
    std::printf("%s,%s,%d,rate,,,%.0f\n", label, kServers[i], in_flight, QuantileOf(rates[i], 0.5));
  }
}

void Measure(const Options& options, const Targets& targets, int round,
             const std::string& transport) {
  for (const std::string& style : options.styles) {
    Callers callers;
    for (int i = 0; i < kServerCount; ++i) callers[i] = MakeCaller(style, targets[i]);
    const std::string label = std::to_string(round) + "," + transport + "," + style;
    if (options.only.empty()) MeasureLatency(label.c_str(), callers, options.calls);
    for (const int in_flight : options.in_flight) {
      if (options.only.empty()) MeasureRate(label.c_str(), callers, in_flight, options.calls);
    }
    for (int i = 0; i < kServerCount; ++i) {
      if (options.only != kServers[i]) continue;
      std::printf("%s,%s,%d,rate,,,%.0f\n", label.c_str(), kServers[i], options.in_flight[0],
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
  else if (name == "--rounds")
    options.rounds = std::atoi(value.c_str());
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

bool RunRound(const Options& options, const char* self, int round) {
  char folder[] = "/tmp/winnow_rpc_bench.XXXXXX";
  if (mkdtemp(folder) == nullptr) return false;
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
    for (const std::string& transport : options.transports) {
      if (transport == "unix") Measure(options, sockets, round, transport);
      if (transport == "tcp") Measure(options, ports, round, transport);
    }
  }
  for (const char* name : {"/echo", "/polling_echo", "/winnow", "/winnow.lock", "/winnow.fd"}) {
    unlink((std::string(folder) + name).c_str());
  }
  rmdir(folder);
  return true;
}

int Run(const Options& options, const char* self) {
  std::printf("round,transport,style,server,in_flight,kind,p50_us,p99_us,calls_per_second\n");
  for (int round = 1; round <= options.rounds; ++round) {
    if (!RunRound(options, self, round)) return 1;
  }
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
  if (!usable || options.server.empty() || options.calls < 1000 || options.rounds < 1) {
    std::fprintf(stderr,
                 "usage: rpc_bench --server=PATH/winnow-server [--rounds=1]\n"
                 "                 [--calls=20000] [--transport=unix|tcp] [--style=unary|stream]\n"
                 "                 [--in-flight=N] [--only=echo|polling_echo|winnow]\n");
    return 2;
  }
  return Run(options, argv[0]);
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
