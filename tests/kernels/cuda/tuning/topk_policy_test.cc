#include "kernels/cuda/tuning/topk_policy.h"

#include <gtest/gtest.h>

#include "kernels/cuda/testing/force_route.h"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {
namespace {

DeviceTraits Hopper() {
  DeviceTraits traits;
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

TEST(TopKPolicyTest, AVeryLongRowIsSharedByMoreBlocksThanAClusterHas) {
  const TopKPolicy policy =
      ChooseTopKPolicy(Hopper(), {.k = 512, .rows = 1, .max_length = 1 << 20});
  EXPECT_EQ(policy.route, TopKRoute::kSplit);
  EXPECT_EQ(policy.split, 64);
}

TEST(TopKPolicyTest, BlocksOfASharedRowNeverOutnumberTheMultiprocessors) {
  for (int64_t rows = 1; rows <= 1024; ++rows) {
    for (int32_t length = 1024; length <= kMaxColumns; length *= 2) {
      const TopKPolicy policy =
          ChooseTopKPolicy(Hopper(), {.k = 2048, .rows = rows, .max_length = length});
      if (policy.route != TopKRoute::kSplit) continue;
      EXPECT_LE(rows * policy.split, 132) << rows << " rows of " << length;
      EXPECT_GE(policy.split, 2);
    }
  }
}

TEST(TopKPolicyTest, WithoutClustersNoRowIsGivenOne) {
  DeviceTraits traits = Hopper();
  traits.max_cluster_size = traits.clusters_of_8 = traits.clusters_of_8_shared = 0;
  traits.clusters_of_16 = traits.clusters_of_16_shared = 0;
  for (int64_t rows = 1; rows <= 64; ++rows) {
    for (int32_t length = 1024; length <= kMaxColumns; length *= 2) {
      const TopKWork work{.k = 512, .rows = rows, .max_length = length};
      EXPECT_NE(ChooseTopKPolicy(traits, work).route, TopKRoute::kCluster);
      EXPECT_EQ(PolicyForRoute(TopKRoute::kCluster, traits, work).route, TopKRoute::kExact);
    }
  }
}

TEST(TopKPolicyTest, ClustersHaveASizeThatTheDevicePlaces) {
  for (int64_t rows = 1; rows <= 64; ++rows) {
    for (int32_t length = 1024; length <= kMaxColumns; length *= 2) {
      const TopKPolicy policy = PolicyForRoute(TopKRoute::kCluster, Hopper(),
                                               {.k = 512, .rows = rows, .max_length = length});
      EXPECT_TRUE(policy.split == 4 || policy.split == 8 || policy.split == 16) << ToString(policy);
    }
  }
}

TEST(TopKPolicyTest, FewRowsGetClustersThatFitAtOnce) {
  const auto choose = [](int64_t rows, int32_t k, int32_t length) {
    return ChooseTopKPolicy(Hopper(), {.k = k, .rows = rows, .max_length = length});
  };
  EXPECT_EQ(choose(7, 512, 65536).split, 16);
  EXPECT_EQ(choose(8, 512, 65536).split, 8);
  EXPECT_EQ(choose(30, 512, 65536).route, TopKRoute::kCluster);
  EXPECT_EQ(choose(30, 2048, 131072).split, 4);
  EXPECT_EQ(choose(31, 512, 65536).split, 4);
  EXPECT_EQ(choose(31, 2048, 65536).route, TopKRoute::kStream);
  EXPECT_EQ(choose(64, 512, 65536).route, TopKRoute::kStream);
}

TEST(TopKPolicyTest, LongRowsGetWiderClustersWhereTwoBlocksFitAMultiprocessor) {
  const auto split = [](int64_t rows, int32_t k, int32_t length) {
    return ChooseTopKPolicy(Hopper(), {.k = k, .rows = rows, .max_length = length}).split;
  };
  EXPECT_EQ(split(14, 512, 262144), 16);
  EXPECT_EQ(split(14, 2048, 262144), 8);
  EXPECT_EQ(split(16, 512, 65536), 8);
  EXPECT_EQ(split(16, 512, 32768), 4);
}

TEST(TopKPolicyTest, KeysAreKeptWhereAllMultiprocessorsStream) {
  const auto keeps = [](DType dtype, int64_t rows, int32_t length) {
    return ChooseTopKPolicy(Hopper(),
                            {.dtype = dtype, .k = 512, .rows = rows, .max_length = length})
        .keep_keys;
  };
  EXPECT_TRUE(keeps(DType::kFloat32, 128, 65536));
  EXPECT_FALSE(keeps(DType::kFloat32, 64, 65536));
  EXPECT_FALSE(keeps(DType::kFloat32, 256, 8192));  // held in registers
  EXPECT_FALSE(keeps(DType::kBfloat16, 128, 131072));
  EXPECT_TRUE(keeps(DType::kBfloat16, 256, 131072));
}

TEST(TopKPolicyTest, SplitRowsHaveAPowerOfTwoOfBlocks) {
  for (int64_t rows = 1; rows <= 64; ++rows) {
    const int32_t split =
        PolicyForRoute(TopKRoute::kSplit, Hopper(), {.k = 512, .rows = rows, .max_length = 1 << 20})
            .split;
    EXPECT_EQ(split & (split - 1), 0) << rows;
  }
}

TEST(TopKPolicyTest, ManyRowsAreNotShared) {
  EXPECT_EQ(ChooseTopKPolicy(Hopper(), {.k = 512, .rows = 256, .max_length = 1 << 20}).route,
            TopKRoute::kStream);
}

TEST(TopKPolicyTest, APlanOfLongRowsGetsTheSharedRouteWhateverTheNumberOfRows) {
  const TopKPolicy policy =
      ChooseTopKPolicy(Hopper(), {.k = 512, .rows = 256, .max_length = 1 << 20, .planned = true});
  EXPECT_EQ(policy.route, TopKRoute::kSplit);
  EXPECT_GE(policy.split, 2);
}

TEST(TopKPolicyTest, TheKernelHasRoomForTheResults) {
  for (const int32_t k : {1, 511, 512, 513, 2048}) {
    EXPECT_GE(ChooseTopKPolicy(Hopper(), {.k = k, .rows = 4, .max_length = 4096}).max_results, k);
  }
}

TEST(TopKPolicyTest, Bfloat16TilesFitTheMask) {
  for (const TopKRoute route : {TopKRoute::kStream, TopKRoute::kSplit}) {
    EXPECT_EQ(PolicyForRoute(route, Hopper(),
                             {.dtype = DType::kBfloat16, .k = 1, .rows = 1, .max_length = 1 << 21})
                  .loads,
              4);
  }
}

TEST(TopKPolicyTest, ShortRowsAreHeldInAsFewVectorsAsHoldThem) {
  const auto loads = [](DType dtype, int32_t length) {
    const TopKPolicy policy =
        ChooseTopKPolicy(Hopper(), {.dtype = dtype, .k = 512, .rows = 8, .max_length = length});
    return policy.route == TopKRoute::kShort ? policy.loads : 0;
  };
  EXPECT_EQ(loads(DType::kFloat32, 1), 2);
  EXPECT_EQ(loads(DType::kFloat32, 4096), 2);
  EXPECT_EQ(loads(DType::kFloat32, 4097), 4);
  EXPECT_EQ(loads(DType::kFloat32, 16384), 8);
  EXPECT_EQ(loads(DType::kFloat32, 16385), 0);
  EXPECT_EQ(loads(DType::kBfloat16, 4096), 1);
  EXPECT_EQ(loads(DType::kBfloat16, 16384), 4);
}

TEST(TopKPolicyTest, PrintsItself) {
  const TopKPolicy policy{.route = TopKRoute::kSplit,
                          .max_results = 512,
                          .loads = 4,
                          .split = 16,
                          .pool_threshold = 16384,
                          .release_early = true,
                          .keep_keys = true};
  EXPECT_EQ(ToString(policy),
            "split, max_results 512, loads 4, split 16, pool_threshold 16384, release_early, "
            "keep_keys");
}

TEST(ForceRouteTest, EveryRouteIsParsedFromItsName) {
  for (int32_t i = 0; i < kTopKRouteCount; ++i) {
    const auto route = static_cast<TopKRoute>(i);
    EXPECT_EQ(ParseTopKRoute(ToString(route)), route);
  }
  EXPECT_EQ(ParseTopKRoute("fastest"), std::nullopt);
}

TEST(ForceRouteTest, AForcedRouteStaysUntilItIsGivenBack) {
  EXPECT_EQ(ForcedTopKRoute(), std::nullopt);
  ForceTopKRoute(TopKRoute::kStream);
  EXPECT_EQ(ForcedTopKRoute(), TopKRoute::kStream);
  ForceTopKRoute(std::nullopt);
  EXPECT_EQ(ForcedTopKRoute(), std::nullopt);
}

}  // namespace
}  // namespace winnow::cuda
