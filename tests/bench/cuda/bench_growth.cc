// Where time is measured as work grows: close to each boundary of the policy, coarser elsewhere.

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "tests/bench/cuda/bench_case.h"
#include "tests/bench/cuda/policy_boundaries.h"
#include "winnow/kernels/limits.h"

namespace winnow::bench {
namespace {

constexpr int32_t kKibi = 1024;
constexpr double kCoarseStep = 4.0 / 3;
constexpr double kFineStep = 1.1;
constexpr int kFineSteps = 2;  // on either side of a boundary
// Columns between lengths: rows stay aligned to more than the widest load.
constexpr int32_t kColumnGrain = 64;

// How close points lie.
struct Spacing {
  double step = kCoarseStep;    // where the policy stays
  int fine_steps = kFineSteps;  // on either side of a boundary
};

std::set<int32_t> Points(const Axis& axis, const std::vector<int32_t>& boundaries,
                         const Spacing& spacing) {
  std::set<int32_t> points = {axis.last};
  const auto add = [&](double value) {
    const auto rounded = static_cast<int32_t>(std::lround(value / axis.grain)) * axis.grain;
    points.insert(std::clamp(rounded, axis.first, axis.last));
  };
  for (double value = axis.first; value < axis.last; value *= spacing.step) add(value);
  for (const int32_t boundary : boundaries) {
    double below = boundary - axis.grain;
    double above = boundary;
    for (int step = 0; step <= spacing.fine_steps; ++step) {
      add(below);
      add(above);
      below /= kFineStep;
      above *= kFineStep;
    }
  }
  return points;
}

void AddLengths(const cuda::DeviceTraits& traits, const BenchCase& kind, const Spacing& spacing,
                std::vector<BenchCase>& cases) {
  for (const int32_t rows : {1, 16, 256}) {
    const auto at = [&](int32_t columns) {
      BenchCase bench_case = kind;
      bench_case.rows = rows;
      bench_case.columns = columns;
      return bench_case;
    };
    const Axis axis = {kKibi, kMaxColumns, kColumnGrain, at};
    for (const int32_t columns : Points(axis, Boundaries(traits, axis), spacing)) {
      // Results are never more than scores.
      if (columns >= kind.k) cases.push_back(at(columns));
    }
  }
}

void AddBatches(const cuda::DeviceTraits& traits, const BenchCase& kind, const Spacing& spacing,
                std::vector<BenchCase>& cases) {
  for (const int32_t columns : {8 * kKibi, 32 * kKibi, 128 * kKibi}) {
    const auto at = [&](int32_t rows) {
      BenchCase bench_case = kind;
      bench_case.rows = rows;
      bench_case.columns = columns;
      return bench_case;
    };
    const Axis axis = {1, 1024, 1, at};
    std::vector<int32_t> boundaries = Boundaries(traits, axis);
    // One row more than the multiprocessors hold at once starts another round of blocks.
    for (int32_t round = 1; round <= 4; ++round) {
      boundaries.push_back(round * traits.multiprocessors + 1);
    }
    for (const int32_t rows : Points(axis, boundaries, spacing)) cases.push_back(at(rows));
  }
}

}  // namespace

std::vector<BenchCase> MakeGrowth(const cuda::DeviceTraits& traits, bool quick) {
  std::vector<BenchCase> cases;
  const auto add = [&](const BenchCase& kind, const Spacing& spacing) {
    AddLengths(traits, kind, spacing, cases);
    AddBatches(traits, kind, spacing, cases);
  };
  if (quick) {
    add({.k = 512}, {.step = 2, .fine_steps = 0});
    return cases;
  }
  add({.k = 512}, {.step = kFineStep});
  add({.k = kMaxK}, {});
  add({.dtype = DType::kBfloat16, .k = 512}, {});
  return cases;
}

}  // namespace winnow::bench
