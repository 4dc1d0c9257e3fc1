// Cases that only mean something beside each other: what an option costs, and what a chain costs
// beside its parts. Each set is timed in turns, so that a change of the clock falls on all of it.

#include <vector>

#include "tests/bench/cuda/bench_case.h"
#include "winnow/kernels/limits.h"

namespace winnow::bench {
namespace {

constexpr int32_t kKibi = 1024;

// A set of its own: its cases get a number that no other has.
void AddSet(std::vector<BenchCase>& cases, const std::vector<BenchCase>& set) {
  const int32_t number = cases.empty() ? 1 : cases.back().set + 1;
  for (const BenchCase& bench_case : set) {
    cases.push_back(bench_case);
    cases.back().set = number;
  }
}

struct Shape {
  int32_t rows;
  int32_t columns;
  int32_t k;
};

// On an H200 four of each route, in this order: short, cluster, split, stream; for both dtypes.
constexpr Shape kOptionShapes[] = {
    {1, 8 * kKibi, 512},     {64, 16 * kKibi, 512},   {256, 16 * kKibi, 512},
    {16, 8 * kKibi, 2048},   {1, 32 * kKibi, 512},    {16, 64 * kKibi, 512},
    {30, 256 * kKibi, 512},  {15, 128 * kKibi, 2048}, {1, 512 * kKibi, 512},
    {1, 1024 * kKibi, 512},  {1, 2048 * kKibi, 2048}, {32, 512 * kKibi, 2048},
    {64, 64 * kKibi, 512},   {128, 128 * kKibi, 512}, {256, 32 * kKibi, 512},
    {256, 256 * kKibi, 2048}};
constexpr int32_t kShapesOfARoute = 4;

// The base with each option alone. Of scores with many equal ones only what deterministic costs:
// there it has to look for the lowest of the equal positions.
std::vector<BenchCase> OptionSet(const BenchCase& base) {
  std::vector<BenchCase> set = {base, base};
  set.back().deterministic = true;
  if (base.data != Data::kNormal) return set;
  set.push_back(base);
  set.back().outputs.values = true;
  for (int i = 0; i < 3; ++i) {
    set.push_back(set[i]);
    set.back().outputs.slots = false;
    set.back().outputs.indices = true;
  }
  return set;
}

// What one consume does, beside the same top-k with pages of the usual size and without pages.
std::vector<BenchCase> ConsumeSet(int32_t rows, bool chained) {
  std::vector<BenchCase> set = {{.operation = Operation::kConsume,
                                 .dtype = DType::kBfloat16,
                                 .rows = rows,
                                 .columns = kPublishBlocks * kDefaultBlockSize,
                                 .chained = chained,
                                 .page_size = kDefaultBlockSize}};
  set.push_back(set.front());
  set.back().operation = Operation::kTopK;
  set.back().page_size = kBenchPageSize;
  set.push_back(set.back());
  set.back().outputs = {.slots = false, .indices = true};
  return set;
}

std::vector<BenchCase> PublishSet(const BenchCase& publish) {
  BenchCase in_sequence = publish;
  in_sequence.operation = Operation::kPublishParts;
  const PublishParts parts = PartsOf(publish);
  BenchCase fused = publish;
  fused.operation = Operation::kPublishFused;
  return {publish,          fused, in_sequence, parts.topk, parts.block_amax, parts.block_topk,
          parts.sort_blocks};
}

}  // namespace

PublishParts PartsOf(const BenchCase& publish) {
  BenchCase topk = publish;
  topk.operation = Operation::kTopK;
  BenchCase block_amax = publish;
  block_amax.operation = Operation::kBlockAmax;
  block_amax.k = 0;
  BenchCase block_topk = publish;
  block_topk.operation = Operation::kBlockTopK;
  block_topk.dtype = DType::kFloat32;  // of keys, whatever the scores are
  block_topk.columns = publish.columns / kDefaultBlockSize;
  block_topk.k = kPublishBlocks;
  block_topk.outputs = {.slots = false, .indices = true};
  BenchCase sort_blocks = publish;
  sort_blocks.operation = Operation::kSortBlocks;
  sort_blocks.k = kPublishBlocks;
  return {topk, block_amax, block_topk, sort_blocks};
}

std::vector<BenchCase> MakeOptions(bool quick) {
  std::vector<BenchCase> cases;
  // Scores of one kind after another: filling the buffers is what takes longest.
  for (const Data data : {Data::kNormal, Data::kRelu}) {
    for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
      int32_t number = 0;
      for (const Shape& shape : kOptionShapes) {
        const bool first = number++ % kShapesOfARoute == 0;
        if ((quick || data != Data::kNormal) && !first) continue;
        for (const bool chained : {true, false}) {
          if (quick && !chained) continue;
          AddSet(cases, OptionSet({.dtype = dtype,
                                   .data = data,
                                   .rows = shape.rows,
                                   .columns = shape.columns,
                                   .k = shape.k,
                                   .chained = chained}));
        }
      }
    }
  }
  return cases;
}

std::vector<BenchCase> MakeParts(bool quick) {
  std::vector<BenchCase> cases;
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const bool chained : {true, false}) {
      if (quick && !chained) continue;
      for (const int32_t rows : {1, 16, 64}) {
        for (const int32_t columns : {32 * kKibi, 128 * kKibi, 512 * kKibi}) {
          if (quick && columns != 128 * kKibi) continue;
          AddSet(cases, PublishSet({.operation = Operation::kPublish,
                                    .dtype = dtype,
                                    .rows = rows,
                                    .columns = columns,
                                    .chained = chained}));
        }
      }
    }
  }
  for (const bool chained : {true, false}) {
    if (quick && !chained) continue;
    for (const int32_t rows : {1, 16, 64, 256}) AddSet(cases, ConsumeSet(rows, chained));
  }
  return cases;
}

}  // namespace winnow::bench
