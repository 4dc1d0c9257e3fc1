// The server as an engine uses it: scores and results in memory of its device, requests from one
// client and from many, unary and on streams, beside prefill. Prints CSV.
//
//   resident_bench [--calls=5000] [--millis=3000] [--clients=64] [--prefill-rows=4096]
//                  [--parts=kernel,latency,echo,clients,saturation]
//
// The server is a process of its own, on the backend WINNOW_TEST_BACKEND. device_p50_us is
// Timing.device_duration of the server's replies, and by the device's events where the kernel is
// alone; what is left of the round trip is the server's, gRPC's and the client's. The echo
// answers the same API with nothing behind it. Excluded: connecting, and a tenth of the calls as
// warm-up.

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "grpcpp/create_channel.h"
#include "tests/bench/rpc/echo_server.h"
#include "tests/bench/rpc/measurement.h"
#include "tests/bench/rpc/resident_parts.h"

namespace winnow::testing {
namespace {

struct Arguments {
  BenchOptions options;
  std::string parts = "kernel,latency,echo,clients,saturation";
  std::string serve_echo;
};

bool Parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    int64_t number = 0;
    if (absl::ConsumePrefix(&text, "--serve-echo=")) {
      arguments.serve_echo = std::string(text);
    } else if (absl::ConsumePrefix(&text, "--parts=")) {
      arguments.parts = std::string(text);
    } else if (absl::ConsumePrefix(&text, "--calls=") && absl::SimpleAtoi(text, &number)) {
      arguments.options.calls = number;
    } else if (absl::ConsumePrefix(&text, "--millis=") && absl::SimpleAtoi(text, &number)) {
      arguments.options.time = std::chrono::milliseconds(number);
    } else if (absl::ConsumePrefix(&text, "--clients=") && absl::SimpleAtoi(text, &number)) {
      arguments.options.clients = static_cast<int>(number);
    } else if (absl::ConsumePrefix(&text, "--prefill-rows=") && absl::SimpleAtoi(text, &number)) {
      arguments.options.prefill_rows = number;
    } else {
      return false;
    }
  }
  return true;
}

constexpr int kQueues = 4;

void MeasureEchoProcess(const char* program, const BenchOptions& options) {
  const TempFolder folder;
  const std::string target = "unix:" + folder.Path("echo");
  const BenchProcess echo({program, "--serve-echo=" + target});
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10))) {
    std::fprintf(stderr, "resident_bench: the echo does not answer\n");
    return;
  }
  MeasureEcho(target, options);
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: see the head of resident_bench.cc\n");
    return 2;
  }
  if (!arguments.serve_echo.empty())
    return ServeEcho({arguments.serve_echo}, EchoPolling::kBare, kQueues);
  const auto wants = [&](absl::string_view part) {
    return absl::StrContains(absl::StrCat(",", arguments.parts, ","), absl::StrCat(",", part, ","));
  };
  // As many queues as the echo has, and room for a prefill of a GiB and more.
  ServerProcess server({.flags = {absl::StrCat("--queues=", kQueues), "--buffer-pool-bytes=4G",
                                  "--max-lease-bytes=2G", "--log-level=info"}});
  if (!server.running()) {
    std::fprintf(stderr, "resident_bench: no server\n%s\n", server.log().c_str());
    return 1;
  }
  PrintHeader();
  if (wants("kernel")) PrintKernel();
  if (wants("latency")) MeasureLatency(server, arguments.options);
  if (wants("echo")) MeasureEchoProcess(argv[0], arguments.options);
  if (wants("clients")) MeasureClients(server, arguments.options);
  if (wants("saturation")) MeasureSaturation(server, arguments.options);
  return server.running() ? 0 : 1;
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
