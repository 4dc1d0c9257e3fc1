// Times the operations of the CUDA device and prints one CSV line a case, beside the floor that the
// same run measured. README.md in tests/bench says how and what is left out.
//
//   kernel_bench [--group=all|topk|bf16|ragged|data|blocks|publish|sweep|profile|checks|text]
//   [--quick] [--ordinal=N] [--text=FILE.npy]
//
// --text: float32 scores in one dimension, for the group of that name.

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

void Print(const BenchCase& bench_case, const BenchResult& result) {
  std::printf("%s,%s,%s,%d,%d,%d,%s,%s,%d,%.2f,%.2f,%lld,%lld,%.2f,%.2f,%s\n",
              Name(bench_case.operation), std::string(Name(bench_case.dtype)).c_str(),
              Name(bench_case.data), bench_case.rows, bench_case.columns, bench_case.k,
              Name(bench_case.cache), bench_case.chained ? "chained" : "serial",
              bench_case.deterministic ? 1 : 0, result.operation.median_us, result.operation.min_us,
              static_cast<long long>(bench_case.ReadBytes()),
              static_cast<long long>(bench_case.WriteBytes()), result.floor_us,
              result.operation.median_us / result.floor_us, PolicyName(bench_case).c_str());
  std::fflush(stdout);
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
  std::printf(
      "operation,dtype,data,rows,columns,k,cache,overlap,deterministic,median_us,min_us,read_bytes,"
      "write_bytes,floor_us,ratio,policy\n");
  int failures = 0;
  const std::vector<BenchCase> cases = arguments.group == "sweep"
                                           ? MakeSweep((*runner)->traits(), arguments.quick)
                                           : MakeCases(arguments.group, arguments.quick);
  for (const BenchCase& bench_case : cases) {
    const auto result = (*runner)->Run(bench_case);
    if (result.ok()) {
      Print(bench_case, *result);
    } else {
      std::fprintf(stderr, "%s: %s\n", bench_case.ToString().c_str(),
                   result.status().ToString().c_str());
      if (!absl::IsUnimplemented(result.status())) ++failures;
      if (absl::IsUnavailable(result.status())) break;
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) { return winnow::bench::Main(argc, argv); }
