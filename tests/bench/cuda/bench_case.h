// What is measured: one operation at one shape, in one way. The shapes are those of
// PERFORMANCE in tests/bench/README.md. Next: bench_runner.h.

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

inline constexpr int32_t kBenchPageSize = 64;  // positions in a page

enum class Operation { kTopK, kRaggedTopK, kBlockAmax, kSortBlocks, kPublish };
// kCold: the scores are in DRAM. kWarm: in L2 where they fit. kProduced: a kernel wrote them just
// before; its own time is subtracted.
enum class Cache { kCold, kWarm, kProduced };
const char* Name(Operation operation);
const char* Name(Cache cache);

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

  // Bytes that the operation cannot avoid to move.
  int64_t ReadBytes() const;
  int64_t WriteBytes() const;
  // "topk float32 normal 16 x 131072 k 512 cold chained".
  std::string ToString() const;
};

// `group`: topk, bf16, data, blocks, ragged, publish, or all of these; or one of profile,
// checks, text. `quick` keeps a tenth.
std::vector<BenchCase> MakeCases(const std::string& group, bool quick);

// Every top-k policy worth a try at shapes on both sides of each boundary of the device's policy,
// and the device's own choice beside them.
std::vector<BenchCase> MakeSweep(const cuda::DeviceTraits& traits, bool quick);
// "cluster/16 loads 4", or "chosen".
std::string PolicyName(const BenchCase& bench_case);

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_BENCH_CASE_H_
