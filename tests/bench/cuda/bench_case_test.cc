#include "tests/bench/cuda/bench_case.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "tests/bench/cuda/bench_memory.h"
#include "winnow/kernels/limits.h"

namespace winnow::bench {
namespace {

using ::testing::UnorderedElementsAre;

cuda::DeviceTraits Hopper() {
  cuda::DeviceTraits traits;
  traits.capability = 90;
  traits.multiprocessors = 132;
  traits.dependent_launch = true;
  traits.max_cluster_size = 16;
  traits.clusters_of_8 = 15;
  traits.clusters_of_8_shared = 30;
  traits.clusters_of_16 = 7;
  traits.clusters_of_16_shared = 14;
  return traits;
}

// The sets, in the order of their first cases.
std::vector<std::vector<BenchCase>> SetsOf(const std::vector<BenchCase>& cases) {
  std::vector<std::vector<BenchCase>> sets;
  for (const BenchCase& bench_case : cases) {
    EXPECT_NE(bench_case.set, 0) << bench_case.ToString();
    if (sets.empty() || sets.back().back().set != bench_case.set) sets.emplace_back();
    sets.back().push_back(bench_case);
  }
  std::set<int32_t> numbers;
  for (const auto& set : sets) EXPECT_TRUE(numbers.insert(set.front().set).second);
  return sets;
}

std::vector<BenchCase> MakeAny(const std::string& group, bool quick) {
  if (group == "growth") return MakeGrowth(Hopper(), quick);
  if (group == "sweep") return MakeSweep(Hopper(), quick);
  return MakeCases(group, quick);
}

TEST(BenchCaseTest, EveryGroupFitsTheMemoryAndHasAQuickForm) {
  for (const char* group : {"topk", "bf16", "ragged", "data", "blocks", "publish", "options",
                            "shapes", "growth", "parts", "sweep", "checks", "text"}) {
    const std::vector<BenchCase> cases = MakeAny(group, false);
    EXPECT_FALSE(MakeAny(group, true).empty()) << group;
    EXPECT_LT(MakeAny(group, true).size(), cases.size()) << group;
    for (const BenchCase& bench_case : cases) {
      const bool ids = bench_case.operation == Operation::kSortBlocks;
      EXPECT_LE(ids ? 0 : bench_case.ReadBytes(), BenchMemory::kPoolBytes) << bench_case.ToString();
      EXPECT_LE(bench_case.rows, BenchMemory::kTableRows) << bench_case.ToString();
      EXPECT_LE(bench_case.columns, kMaxColumns) << bench_case.ToString();
    }
  }
}

TEST(BenchCaseTest, OptionsAreTimedAtFourShapesOfEveryRouteInBothDtypes) {
  for (const bool quick : {false, true}) {
    using ShapeOfDType = std::tuple<DType, int32_t, int32_t, int32_t>;
    std::map<std::string, std::set<ShapeOfDType>> shapes;
    for (const BenchCase& bench_case : MakeOptions(quick)) {
      shapes[ToString(ChosenPolicy(Hopper(), bench_case).route)].insert(
          {bench_case.dtype, bench_case.rows, bench_case.columns, bench_case.k});
    }
    for (const char* route : {"short", "cluster", "split", "stream"}) {
      EXPECT_EQ(shapes[route].size(), quick ? 2u : 8u) << route;
    }
  }
}

TEST(BenchCaseTest, EachSetOfOptionsHasOneShapeAndEveryPairThatHasALimit) {
  for (const std::vector<BenchCase>& set : SetsOf(MakeOptions(false))) {
    std::set<std::string> variants;
    for (const BenchCase& bench_case : set) {
      EXPECT_EQ(std::tie(bench_case.rows, bench_case.columns, bench_case.k, bench_case.dtype),
                std::tie(set[0].rows, set[0].columns, set[0].k, set[0].dtype));
      EXPECT_EQ(bench_case.chained, set[0].chained);
      EXPECT_EQ(bench_case.data, set[0].data);
      variants.insert(OutputsName(bench_case) + (bench_case.deterministic ? " det" : ""));
    }
    if (set[0].data == Data::kNormal) {
      EXPECT_THAT(variants, UnorderedElementsAre("slots", "slots det", "slots+values", "indices",
                                                 "indices det", "indices+values"));
    } else {
      EXPECT_THAT(variants, UnorderedElementsAre("slots", "slots det"));
    }
  }
}

TEST(BenchCaseTest, APublishStandsBesideItsPartsAndAConsumeBesideItsTopK) {
  for (const std::vector<BenchCase>& set : SetsOf(MakeParts(false))) {
    std::vector<std::string> names;
    for (const BenchCase& bench_case : set) names.push_back(Name(bench_case.operation));
    if (set[0].operation == Operation::kConsume) {
      EXPECT_THAT(names, UnorderedElementsAre("consume", "topk", "topk"));
      EXPECT_EQ(set[0].ReadBytes(), set[1].ReadBytes());
      continue;
    }
    EXPECT_THAT(names, UnorderedElementsAre("publish", "publish_fused", "publish_parts", "topk",
                                            "block_amax", "block_topk", "sort_blocks"));
    const PublishParts parts = PartsOf(set[0]);
    EXPECT_EQ(parts.topk.ReadBytes(), set[0].ReadBytes());
    EXPECT_EQ(parts.block_topk.ReadBytes(), parts.block_amax.WriteBytes());
    EXPECT_EQ(parts.topk.WriteBytes() + parts.sort_blocks.WriteBytes(), set[0].WriteBytes());
  }
}

TEST(BenchCaseTest, EachShapeHasASeedThatItsPageSizesShare) {
  std::map<std::tuple<int32_t, int32_t, int32_t>, std::set<uint32_t>> seeds;
  std::set<int32_t> page_sizes;
  for (const BenchCase& bench_case : MakeCases("shapes", false)) {
    seeds[{bench_case.rows, bench_case.columns, bench_case.k}].insert(bench_case.seed);
    page_sizes.insert(bench_case.page_size);
  }
  EXPECT_EQ(seeds.size(), 2u * 4 * 3);
  std::set<uint32_t> all;
  for (const auto& [shape, of_shape] : seeds) {
    EXPECT_EQ(of_shape.size(), 1u);
    all.insert(of_shape.begin(), of_shape.end());
  }
  EXPECT_EQ(all.size(), seeds.size());
  EXPECT_THAT(page_sizes, UnorderedElementsAre(1, 8, 64, 256));
}

// Neighbours of a growth series along one axis: pairs of (smaller, larger).
std::vector<std::pair<BenchCase, BenchCase>> Neighbours(std::vector<BenchCase> cases,
                                                        bool of_lengths) {
  const auto key = [&](const BenchCase& one) {
    return std::tuple(one.dtype, one.k, of_lengths ? one.rows : one.columns,
                      of_lengths ? one.columns : one.rows);
  };
  std::sort(cases.begin(), cases.end(),
            [&](const BenchCase& a, const BenchCase& b) { return key(a) < key(b); });
  std::vector<std::pair<BenchCase, BenchCase>> pairs;
  for (size_t i = 1; i < cases.size(); ++i) {
    const auto [dtype, k, fixed, value] = key(cases[i - 1]);
    const auto [next_dtype, next_k, next_fixed, next_value] = key(cases[i]);
    if (std::tie(dtype, k, fixed) != std::tie(next_dtype, next_k, next_fixed)) continue;
    if (value < next_value) pairs.emplace_back(cases[i - 1], cases[i]);
  }
  return pairs;
}

TEST(BenchCaseTest, GrowthIsFineWhereThePolicyChanges) {
  for (const bool quick : {false, true}) {
    int changes = 0;
    for (const bool of_lengths : {true, false}) {
      for (const auto& [below, above] : Neighbours(MakeGrowth(Hopper(), quick), of_lengths)) {
        const bool in_series =
            of_lengths ? below.rows == 1 || below.rows == 16 || below.rows == 256
                       : below.columns == 8192 || below.columns == 32768 || below.columns == 131072;
        if (!in_series || ChosenPolicy(Hopper(), below) == ChosenPolicy(Hopper(), above)) continue;
        ++changes;
        EXPECT_EQ(of_lengths ? above.columns - below.columns : above.rows - below.rows,
                  of_lengths ? 64 : 1)
            << below.ToString() << " and " << above.ToString();
      }
    }
    EXPECT_GE(changes, 20);
  }
}

TEST(BenchCaseTest, GrowthReachesBothEndsInStepsOfAtMostAThirdAndOne) {
  const std::vector<BenchCase> cases = MakeGrowth(Hopper(), false);
  int32_t longest = 0;
  int32_t most_rows = 0;
  for (const BenchCase& bench_case : cases) {
    longest = std::max(longest, bench_case.columns);
    most_rows = std::max(most_rows, bench_case.rows);
    EXPECT_FALSE(bench_case.brief);  // the floor is wanted
    EXPECT_GE(bench_case.columns, bench_case.k);
  }
  EXPECT_EQ(longest, kMaxColumns);
  EXPECT_EQ(most_rows, 1024);
  for (const auto& [below, above] : Neighbours(cases, true)) {
    if (below.rows != 1 && below.rows != 16) continue;
    EXPECT_LE(above.columns, below.columns * 4 / 3 + 128) << below.ToString();
  }
}

}  // namespace
}  // namespace winnow::bench
