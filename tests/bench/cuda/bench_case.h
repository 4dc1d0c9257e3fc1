// What is measured: one operation at one shape, in one way. README.md says how. Next: bench_sets.cc
// and bench_growth.cc for cases that answer one question together, bench_runner.h for who runs
// them.

#ifndef WINNOW_TESTS_BENCH_CUDA_BENCH_CASE_H_
#define WINNOW_TESTS_BENCH_CUDA_BENCH_CASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/tuning/topk_policy.h"
#include "tests/bench/cuda/bench_kernels.h"
#include "winnow/kernels/dtype.h"

namespace winnow::bench {

inline constexpr int32_t kBenchPageSize = 64;  // positions in a page, unless a case says otherwise
inline constexpr int32_t kPublishBlocks = 2048;  // blocks that a publish keeps of a row

enum class Operation {
  kTopK,
  kRaggedTopK,
  kBlockAmax,
  kBlockTopK,  // the top-k of a publish that selects blocks by their keys
  kSortBlocks,
  kPublish,
  kPublishFused,  // both selections of a publish in one launch
  kPublishParts,  // the four operations that a publish stands for, one call after another
  kConsume,       // a top-k whose page table is the slots of 2,048 candidate blocks
};
// kCold: the scores are in DRAM. kWarm: in L2 where they fit. kProduced: a kernel wrote them just
// before; its own time is subtracted.
enum class Cache { kCold, kWarm, kProduced };
const char* Name(Operation operation);
const char* Name(Cache cache);

// What a top-k writes.
struct Outputs {
  bool slots = true;
  bool indices = false;
  bool values = false;
};

struct BenchCase {
  Operation operation = Operation::kTopK;
  DType dtype = DType::kFloat32;
  Data data = Data::kNormal;
  int32_t rows = 1;
  int32_t columns = 0;  // scores of a row; kSortBlocks: positions
  int32_t k = 512;      // kSortBlocks: ids of a row
  Cache cache = Cache::kCold;
  bool chained = true;  // launches overlap through programmatic dependent launch
  bool deterministic = false;
  std::optional<cuda::TopKPolicy> policy;  // of kTopK; the device's choice when absent
  bool brief = false;                      // fewer replays, and no floor
  Outputs outputs = {};
  int32_t page_size = kBenchPageSize;
  uint32_t seed = 0;  // of the scores
  // Neighbours with the same number, not 0, are timed in turns. They read the same scores.
  int32_t set = 0;

  bool IsTopK() const;
  // Of each row: a ragged row starts up to 7 columns in.
  int32_t Length() const { return columns - (operation == Operation::kRaggedTopK ? 8 : 0); }
  // Bytes that the operation cannot avoid to move.
  int64_t ReadBytes() const;
  int64_t WriteBytes() const;
  // "topk float32 normal 16 x 131072 k 512 cold chained".
  std::string ToString() const;
};

// What a publish of 8-position blocks does, part by part, at its shape. Together they are no set.
struct PublishParts {
  BenchCase topk;
  BenchCase block_amax;
  BenchCase block_topk;
  BenchCase sort_blocks;
};
PublishParts PartsOf(const BenchCase& publish);

// `group`: topk, bf16, data, blocks, ragged, publish, or all of these; or one of profile, checks,
// text, shapes, options, parts. `quick` keeps about a tenth, and no half sets.
std::vector<BenchCase> MakeCases(const std::string& group, bool quick);

// A base beside the same with one option more: deterministic, values, slots instead of indices.
std::vector<BenchCase> MakeOptions(bool quick);
// A publish beside its parts, a consume beside the top-k that it is.
std::vector<BenchCase> MakeParts(bool quick);

// Every top-k policy worth a try at lengths from 4K to 1M, with as many rows as lie on both sides
// of each boundary of the device's policy, and the device's own choice beside them.
std::vector<BenchCase> MakeSweep(const cuda::DeviceTraits& traits, bool quick);
// Top-k along the length of a row and along the number of rows: in steps of about 10 % for float32
// and k 512; for others so on both sides of each boundary of the device's policy, and of up to a
// third elsewhere.
std::vector<BenchCase> MakeGrowth(const cuda::DeviceTraits& traits, bool quick);

// What the device chooses for a case that brings no policy.
cuda::TopKPolicy ChosenPolicy(const cuda::DeviceTraits& traits, const BenchCase& bench_case);
// "cluster/16 loads 4", or "chosen".
std::string PolicyName(const BenchCase& bench_case);
// The same for what runs, chosen or not; "-" where that is no single top-k.
std::string RouteName(const cuda::DeviceTraits& traits, const BenchCase& bench_case);
// "slots+values"; "-" for what is no top-k.
std::string OutputsName(const BenchCase& bench_case);

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_BENCH_CASE_H_
