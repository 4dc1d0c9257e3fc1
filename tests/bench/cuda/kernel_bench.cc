// Times the operations of the CUDA device and prints one CSV line a case, beside the floor that the
// same run measured. README.md says how and what is left out.
//
//   kernel_bench [--group=GROUP] [--quick] [--ordinal=N] [--text=FILE.npy]
//
// GROUP: all, or one of topk bf16 ragged data blocks publish, which all stands for; or one of
// options shapes growth parts sweep profile checks text.
//
// --text: float32 scores in one dimension, for the group of that name.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/bench/cuda/bench_runner.h"

namespace winnow::bench {
namespace {

struct Arguments {
  std::string group = "all";
  bool quick = false;
  int32_t ordinal = 0;
  std::string text;
};

bool Parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--quick") {
      arguments.quick = true;
    } else if (absl::ConsumePrefix(&argument, "--group=")) {
      arguments.group = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--text=")) {
      arguments.text = std::string(argument);
    } else if (!absl::ConsumePrefix(&argument, "--ordinal=") ||
               !absl::SimpleAtoi(argument, &arguments.ordinal)) {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      return false;
    }
  }
  return true;
}

// The scores of an .npy file of version 1 that is float32 in one dimension.
std::optional<std::vector<float>> ReadScores(const std::string& path) {
  constexpr size_t kPreamble = 10;  // magic, version, length of the header
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < kPreamble || bytes.substr(0, 8) != std::string("\x93NUMPY\1\0", 8)) {
    return std::nullopt;
  }
  const size_t begin = kPreamble + static_cast<uint8_t>(bytes[8]) +
                       (static_cast<size_t>(static_cast<uint8_t>(bytes[9])) << 8);
  if (bytes.size() <= begin) return std::nullopt;
  const absl::string_view header(bytes.data() + kPreamble, begin - kPreamble);
  if (!absl::StrContains(header, "'<f4'") || !absl::StrContains(header, ",)")) return std::nullopt;
  std::vector<float> scores((bytes.size() - begin) / sizeof(float));
  std::memcpy(scores.data(), bytes.data() + begin, scores.size() * sizeof(float));
  return scores;
}

bool UseText(BenchRunner& runner, const std::string& path) {
  if (path.empty()) return true;
  const std::optional<std::vector<float>> scores = ReadScores(path);
  if (!scores.has_value()) {
    std::fprintf(stderr, "%s is no .npy file of float32 in one dimension\n", path.c_str());
    return false;
  }
  const absl::Status status = runner.SetText(*scores);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok();
}

void Print(const cuda::DeviceTraits& traits, const BenchCase& bench_case,
           const BenchResult& result) {
  const double floor_us = result.floor_us;
  std::printf("%s,%s,%s,%d,%d,%d,%s,%s,%d,%.2f,%.2f,%lld,%lld,%.2f,%.2f,%s,%s,%s,%d,%u,%d\n",
              Name(bench_case.operation), std::string(Name(bench_case.dtype)).c_str(),
              Name(bench_case.data), bench_case.rows, bench_case.columns, bench_case.k,
              Name(bench_case.cache), bench_case.chained ? "chained" : "serial",
              bench_case.deterministic ? 1 : 0, result.operation.median_us, result.operation.min_us,
              static_cast<long long>(bench_case.ReadBytes()),
              static_cast<long long>(bench_case.WriteBytes()), floor_us,
              floor_us > 0 ? result.operation.median_us / floor_us : 0.0,
              PolicyName(bench_case).c_str(), RouteName(traits, bench_case).c_str(),
              OutputsName(bench_case).c_str(), bench_case.page_size, bench_case.seed,
              bench_case.set);
  std::fflush(stdout);
}

std::vector<BenchCase> CasesOf(const Arguments& arguments, const cuda::DeviceTraits& traits) {
  if (arguments.group == "sweep") return MakeSweep(traits, arguments.quick);
  if (arguments.group == "growth") return MakeGrowth(traits, arguments.quick);
  return MakeCases(arguments.group, arguments.quick);
}

// The cases at the start of `cases` that are timed in turns; one that has no set is alone.
absl::Span<const BenchCase> FirstSet(absl::Span<const BenchCase> cases) {
  size_t size = 1;
  while (cases[0].set != 0 && size < cases.size() && cases[size].set == cases[0].set) ++size;
  return cases.subspan(0, size);
}

// Prints a line a case; how many sets failed.
int RunAll(BenchRunner& runner, absl::Span<const BenchCase> cases) {
  std::printf(
      "operation,dtype,data,rows,columns,k,cache,overlap,deterministic,median_us,min_us,read_bytes,"
      "write_bytes,floor_us,ratio,policy,route,outputs,page_size,seed,set\n");
  int failures = 0;
  while (!cases.empty()) {
    const absl::Span<const BenchCase> set = FirstSet(cases);
    cases.remove_prefix(set.size());
    const auto results = runner.Run(set);
    if (results.ok()) {
      for (size_t i = 0; i < set.size(); ++i) Print(runner.traits(), set[i], (*results)[i]);
      continue;
    }
    std::fprintf(stderr, "%s: %s\n", set[0].ToString().c_str(),
                 results.status().ToString().c_str());
    if (!absl::IsUnimplemented(results.status())) ++failures;
    if (absl::IsUnavailable(results.status())) break;
  }
  return failures;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, arguments)) return 2;
  if (CudaDeviceCount() == 0) {
    std::fprintf(stderr, "skipped: no CUDA device answers\n");
    return 0;
  }
  auto runner = BenchRunner::Create(arguments.ordinal);
  if (!runner.ok()) {
    std::fprintf(stderr, "%s\n", std::string(runner.status().message()).c_str());
    return 1;
  }
  if (!UseText(**runner, arguments.text)) return 1;
  const DeviceInfo& info = (*runner)->info();
  std::fprintf(stderr, "%s, %d multiprocessors, %lld MB of L2; %s\n", info.name.c_str(),
               info.multiprocessors, static_cast<long long>(info.l2_bytes >> 20),
               info.pool_note.c_str());
  const std::vector<BenchCase> cases = CasesOf(arguments, (*runner)->traits());
  if (cases.empty()) {
    std::fprintf(stderr, "group %s is unknown\n", arguments.group.c_str());
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const int failures = RunAll(**runner, cases);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "group %s: %zu cases in %.1f s\n", arguments.group.c_str(), cases.size(),
               elapsed.count());
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) { return winnow::bench::Main(argc, argv); }
