// The policies that a sweep tries, and the shapes it tries them at.

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bench/cuda/bench_case.h"
#include "tests/bench/cuda/policy_boundaries.h"
#include "winnow/kernels/limits.h"

namespace winnow::bench {
namespace {

using cuda::TopKPolicy;
using cuda::TopKRoute;

// The policies that could serve the shape at a sensible price.
std::vector<TopKPolicy> Candidates(const cuda::DeviceTraits& traits, const cuda::TopKWork& work) {
  std::vector<TopKPolicy> policies;
  const auto add = [&](TopKRoute route, int32_t split, int32_t loads) {
    TopKPolicy policy = PolicyForRoute(route, traits, work);
    if (policy.route != route) return;
    policy.split = split;
    if (loads > 0) policy.loads = loads;
    policy.pool_threshold = 0;
    policy.release_early = work.rows * split <= traits.multiprocessors;
    policies.push_back(policy);
    if (route != TopKRoute::kStream || work.rows * work.max_length < (4 << 20)) return;
    policies.back().keep_keys = false;
    policy.keep_keys = true;
    policies.push_back(policy);
  };
  const bool bfloat16 = work.dtype == DType::kBfloat16;
  if (work.max_length <= 16384) add(TopKRoute::kShort, 1, 0);
  if (work.max_length >= 8192) {
    add(TopKRoute::kStream, 1, 4);
    if (!bfloat16) add(TopKRoute::kStream, 1, 8);
  }
  for (const int32_t split : {2, 4, 8, 16, 32, 64}) {
    if (work.rows * split > 4 * traits.multiprocessors || work.max_length < 4096 * split) continue;
    if (split <= 16 && work.rows * split <= 2 * traits.multiprocessors) {
      add(TopKRoute::kCluster, split, 0);
    }
    if (work.max_length < 32768) continue;
    add(TopKRoute::kSplit, split, 4);
    if (!bfloat16) add(TopKRoute::kSplit, split, 8);
  }
  return policies;
}

// Rows on both sides of each boundary, and some between.
std::set<int32_t> RowCounts(const cuda::DeviceTraits& traits, const BenchCase& kind, bool quick) {
  std::set<int32_t> counts = {1, 4, 16, 64, 256};
  const auto at = [&](int32_t rows) {
    BenchCase bench_case = kind;
    bench_case.rows = rows;
    return bench_case;
  };
  for (const int32_t boundary : Boundaries(traits, {1, 256, 1, at})) {
    counts.insert(boundary);
    if (!quick) counts.insert(boundary - 1);
  }
  return counts;
}

}  // namespace

std::string PolicyName(const BenchCase& bench_case) {
  if (!bench_case.policy.has_value()) return "chosen";
  const TopKPolicy& policy = *bench_case.policy;
  return absl::StrCat(ToString(policy.route), "/", policy.split, " loads ", policy.loads,
                      policy.keep_keys ? " keep" : "");
}

std::vector<BenchCase> MakeSweep(const cuda::DeviceTraits& traits, bool quick) {
  std::vector<BenchCase> cases;
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t k : {512, kMaxK}) {
      for (const int32_t kibi : {4, 8, 12, 16, 17, 24, 32, 48, 64, 128, 256, 288, 512, 1024}) {
        if (quick && (kibi == 12 || kibi == 24 || kibi == 48 || kibi == 128)) continue;
        const BenchCase kind = {.dtype = dtype, .columns = kibi * 1024, .k = k, .brief = true};
        for (const int32_t rows : RowCounts(traits, kind, quick)) {
          cases.push_back(kind);
          cases.back().rows = rows;
          BenchCase tried = cases.back();
          for (const TopKPolicy& policy : Candidates(
                   traits, {.dtype = dtype, .k = k, .rows = rows, .max_length = kind.columns})) {
            tried.policy = policy;
            cases.push_back(tried);
          }
        }
      }
    }
  }
  return cases;
}

}  // namespace winnow::bench
