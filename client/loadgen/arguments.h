// The command line of winnow-stress, as strings and as what they mean.

#ifndef WINNOW_CLIENT_LOADGEN_ARGUMENTS_H_
#define WINNOW_CLIENT_LOADGEN_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/loadgen/load_run.h"
#include "client/loadgen/shape.h"
#include "client/loadgen/trace.h"
#include "winnow/client/options.h"

namespace winnow::stress {

struct Arguments {
  std::string target, mix = "topk:1x8192:512", trace, pattern = "uniform", chaos = "none", name;
  // Empty: 10 s, or one turn of the trace; 1 s, or none for a trace.
  std::string duration, warm_up;
  std::string ramp = "0s", timeout = "10s", objective, step = "3s";
  std::string json, csv, picture;
  client::TlsOptions tls;
  double rate = 0, speed = 1, verify = 0.01;
  int in_flight = 0;  // 0: 16 in a closed loop, 4096 in an open one
  std::optional<int32_t> device;
  bool streaming = false, alone = false;
  uint64_t seed = 1;
};

void Describe(CLI::App& app, Arguments& arguments);

// What a command line asks for.
struct Settings {
  RunOptions run;
  std::vector<Shape> mix;
  std::optional<Trace> trace;  // instead of the mix
  Pattern pattern = Pattern::kUniform;
  absl::Duration objective;  // 0: no search
  absl::Duration step;       // of each rate of a search
};

// InvalidArgument names the flag.
absl::StatusOr<Settings> Resolve(const Arguments& arguments);

client::ClientOptions ClientOptionsOf(const Arguments& arguments);

// The command line of a second process of the same load on the same server: a closed loop, without
// reports, that does not end by itself for a day. Its leases have the name of this one's.
std::vector<std::string> ChildArguments(const Arguments& arguments, const Settings& settings);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_ARGUMENTS_H_
