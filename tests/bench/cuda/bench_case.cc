#include "tests/bench/cuda/bench_case.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "winnow/kernels/limits.h"

namespace winnow::bench {
namespace {

constexpr int32_t kRowCounts[] = {1, 15, 16, 64, 128, 256};
constexpr int32_t kKibi = 1024;

// The table of peers: every batch at every length, chained and one by one.
void AddTopK(std::vector<BenchCase>& cases) {
  for (int32_t columns : {8, 16, 24, 32, 64, 128, 256, 512, 1024}) {
    for (int32_t rows : kRowCounts) {
      for (int32_t k : {512, 2048}) {
        for (bool chained : {true, false}) {
          cases.push_back({.rows = rows, .columns = columns * kKibi, .k = k, .chained = chained});
        }
      }
      cases.push_back({.rows = rows, .columns = columns * kKibi, .cache = Cache::kWarm});
      cases.push_back(
          {.rows = rows, .columns = columns * kKibi, .cache = Cache::kProduced, .chained = false});
    }
  }
}

void AddBfloat16(std::vector<BenchCase>& cases) {
  for (int32_t columns : {4 * kKibi, 16 * kKibi}) {
    for (int32_t rows : {1, 16, 64, 128, 256}) {
      for (int32_t k : {512, 2048}) {
        for (bool chained : {true, false}) {
          cases.push_back({.dtype = DType::kBfloat16,
                           .rows = rows,
                           .columns = columns,
                           .k = k,
                           .chained = chained});
        }
      }
    }
  }
}

// The same shapes on scores that selection finds hard, and in deterministic order.
void AddData(std::vector<BenchCase>& cases) {
  for (int32_t columns : {16 * kKibi, 64 * kKibi, 512 * kKibi}) {
    for (int32_t rows : {1, 16, 64}) {
      for (Data data : {Data::kRelu, Data::kNarrow, Data::kEqual, Data::kRamp}) {
        for (int32_t k : {512, 2048}) {
          cases.push_back({.data = data, .rows = rows, .columns = columns, .k = k});
        }
      }
      cases.push_back({.rows = rows, .columns = columns, .deterministic = true});
    }
  }
}

// Rows cut one after another from real ones, and normal rows beside them.
void AddText(std::vector<BenchCase>& cases) {
  for (int32_t columns : {8 * kKibi, 16 * kKibi, 64 * kKibi, 128 * kKibi}) {
    for (int32_t rows : {1, 16, 64}) {
      for (int32_t k : {512, 2048}) {
        for (Data data : {Data::kNormal, Data::kText}) {
          cases.push_back({.data = data, .rows = rows, .columns = columns, .k = k});
        }
      }
    }
  }
}

void AddBlocks(std::vector<BenchCase>& cases) {
  for (bool chained : {true, false}) {
    for (int32_t rows : {1, 16, 64}) {
      for (int32_t columns : {128 * kKibi, 512 * kKibi}) {
        for (DType dtype : {DType::kFloat32, DType::kBfloat16}) {
          cases.push_back({.operation = Operation::kBlockAmax,
                           .dtype = dtype,
                           .rows = rows,
                           .columns = columns,
                           .k = 0,
                           .chained = chained});
        }
      }
    }
    for (int32_t rows : {1, 64, 1024}) {
      for (int32_t columns : {128 * kKibi, 1024 * kKibi}) {
        cases.push_back({.operation = Operation::kSortBlocks,
                         .rows = rows,
                         .columns = columns,
                         .k = 2048,
                         .chained = chained});
      }
    }
  }
}

void AddRagged(std::vector<BenchCase>& cases) {
  for (int32_t columns : {4 * kKibi, 16 * kKibi, 64 * kKibi}) {
    for (int32_t rows : {128, 1024}) {
      if (rows == 128 && columns == 4 * kKibi) continue;
      for (bool chained : {true, false}) {
        cases.push_back({.operation = Operation::kRaggedTopK,
                         .rows = rows,
                         .columns = columns,
                         .chained = chained,
                         .outputs = {.slots = false, .indices = true}});
      }
    }
  }
}

void AddPublish(std::vector<BenchCase>& cases) {
  for (int32_t rows : {1, 16, 64}) {
    for (int32_t columns : {32 * kKibi, 128 * kKibi, 512 * kKibi}) {
      cases.push_back({.operation = Operation::kPublish, .rows = rows, .columns = columns});
    }
  }
}

// One shape of each dtype that fills the device once, for a profiler.
void AddProfile(std::vector<BenchCase>& cases) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t columns : {8 * kKibi, 128 * kKibi}) {
      cases.push_back({.dtype = dtype, .rows = 132, .columns = columns, .brief = true});
    }
  }
}

// Every shape of the groups that check entries, cold and chained: to be timed many times over in
// two builds.
void AddChecks(std::vector<BenchCase>& cases) {
  std::vector<BenchCase> all;
  AddTopK(all);
  AddBfloat16(all);
  AddRagged(all);
  AddBlocks(all);
  for (BenchCase& bench_case : all) {
    if (bench_case.cache != Cache::kCold || !bench_case.chained) continue;
    bench_case.brief = true;
    cases.push_back(bench_case);
  }
}

// Shapes on both sides of what a warp, a page and a tile hold, each with scores of its own.
void AddShapes(std::vector<BenchCase>& cases) {
  uint32_t seed = 0;
  for (int32_t rows : {15, 16}) {
    for (int32_t columns : {24 * kKibi, 30 * kKibi, 32 * kKibi, 64 * kKibi}) {
      for (int32_t k : {512, 1024, 2048}) {
        ++seed;
        for (int32_t page_size : {1, 8, 64, 256}) {
          for (bool chained : {true, false}) {
            cases.push_back({.rows = rows,
                             .columns = columns,
                             .k = k,
                             .chained = chained,
                             .page_size = page_size,
                             .seed = seed});
          }
        }
      }
    }
  }
}

// Bytes of a row's page table that the block slots of `k` sorted ids need: memory moves 32 at a
// time, eight page ids, and an id that shares a sector with its neighbour costs nothing more.
int64_t PageSectorBytes(const BenchCase& bench_case) {
  const int64_t pages = bench_case.columns / kBenchPageSize;
  return 32 * std::min<int64_t>(bench_case.k, (pages - 1) / 8 + 1);
}

}  // namespace

const char* Name(Operation operation) {
  switch (operation) {
    case Operation::kTopK:
      return "topk";
    case Operation::kRaggedTopK:
      return "ragged_topk";
    case Operation::kBlockAmax:
      return "block_amax";
    case Operation::kBlockTopK:
      return "block_topk";
    case Operation::kSortBlocks:
      return "sort_blocks";
    case Operation::kPublish:
      return "publish";
    case Operation::kPublishFused:
      return "publish_fused";
    case Operation::kPublishParts:
      return "publish_parts";
    case Operation::kConsume:
      return "consume";
  }
  return "unknown";
}

const char* Name(Cache cache) {
  switch (cache) {
    case Cache::kCold:
      return "cold";
    case Cache::kWarm:
      return "warm";
    case Cache::kProduced:
      return "produced";
  }
  return "unknown";
}

bool BenchCase::IsTopK() const {
  return operation == Operation::kTopK || operation == Operation::kRaggedTopK ||
         operation == Operation::kBlockTopK || operation == Operation::kConsume;
}

int64_t BenchCase::ReadBytes() const {
  const int64_t ids = static_cast<int64_t>(rows) * k * 4;
  if (operation == Operation::kSortBlocks)
    return ids + static_cast<int64_t>(rows) * PageSectorBytes(*this);
  return static_cast<int64_t>(rows) * columns * SizeOf(dtype);
}

int64_t BenchCase::WriteBytes() const {
  const int64_t ids = static_cast<int64_t>(rows) * k * 4;
  switch (operation) {
    case Operation::kBlockAmax:
      return static_cast<int64_t>(rows) * (columns / kDefaultBlockSize) * 4;
    case Operation::kSortBlocks:
      return 2 * ids;
    case Operation::kPublish:
    case Operation::kPublishFused:
    case Operation::kPublishParts:
      return ids + static_cast<int64_t>(rows) * kPublishBlocks * 8;
    default:
      return ids * (outputs.slots + outputs.indices) +
             (outputs.values ? static_cast<int64_t>(rows) * k * SizeOf(dtype) : 0);
  }
}

std::string BenchCase::ToString() const {
  return absl::StrCat(Name(operation), " ", Name(dtype), " ", Name(data), " ", rows, " x ", columns,
                      " k ", k, " ", Name(cache), chained ? " chained" : " serial",
                      deterministic ? " deterministic" : "", " ", OutputsName(*this), " page ",
                      page_size, " seed ", seed);
}

cuda::TopKPolicy ChosenPolicy(const cuda::DeviceTraits& traits, const BenchCase& bench_case) {
  return cuda::ChooseTopKPolicy(traits, {.dtype = bench_case.dtype,
                                         .k = bench_case.k,
                                         .rows = bench_case.rows,
                                         .max_length = bench_case.Length()});
}

std::string RouteName(const cuda::DeviceTraits& traits, const BenchCase& bench_case) {
  if (!bench_case.IsTopK()) return "-";
  BenchCase named = bench_case;
  if (!named.policy.has_value()) named.policy = ChosenPolicy(traits, bench_case);
  return PolicyName(named);
}

std::string OutputsName(const BenchCase& bench_case) {
  if (!bench_case.IsTopK()) return "-";
  std::vector<std::string> names;
  if (bench_case.outputs.slots) names.push_back("slots");
  if (bench_case.outputs.indices) names.push_back("indices");
  if (bench_case.outputs.values) names.push_back("values");
  return absl::StrJoin(names, "+");
}

std::vector<BenchCase> MakeCases(const std::string& group, bool quick) {
  std::vector<BenchCase> cases;
  const auto wanted = [&](const char* name) { return group == "all" || group == name; };
  if (wanted("blocks")) AddBlocks(cases);
  if (wanted("topk")) AddTopK(cases);
  if (wanted("bf16")) AddBfloat16(cases);
  if (wanted("ragged")) AddRagged(cases);
  if (wanted("data")) AddData(cases);
  if (wanted("publish")) AddPublish(cases);
  if (group == "profile") AddProfile(cases);
  if (group == "checks") AddChecks(cases);
  if (group == "text") AddText(cases);
  if (group == "shapes") AddShapes(cases);
  if (group == "options") return MakeOptions(quick);
  if (group == "parts") return MakeParts(quick);
  if (!quick) return cases;
  std::vector<BenchCase> few;
  for (size_t i = 0; i < cases.size(); i += 10) few.push_back(cases[i]);
  return few;
}

}  // namespace winnow::bench
