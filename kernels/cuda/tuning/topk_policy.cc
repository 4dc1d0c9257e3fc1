#include "kernels/cuda/tuning/topk_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {
namespace {

// Results of the smaller kernels, whose candidate buffer leaves more shared memory to a neighbour.
constexpr int32_t kFewResults = 512;
// Scores that the threads of the short route hold at most.
constexpr int32_t kMaxHeld = 16384;
// One block reads up to here as fast as several that have to bring their survivors together.
constexpr int32_t kMinSharedLength = 16384;
// With enough rows to keep half of a cluster's blocks busy anyway, up to here.
constexpr int32_t kMinSharedLengthOfMany = 32768;
constexpr int64_t kManyRows = 16;
// The larger kernels have a multiprocessor to themselves, and then only clusters of 4 fit 16 rows
// or more at once; those win from here on.
constexpr int32_t kMinSharedLengthOfManyLargeResults = 131072;
// Scores that a block of a split row should have.
constexpr int32_t kSlice = 8192;
// Blocks that may share a row; below kMaxParts of gather_survivors.cuh.
constexpr int32_t kMaxSplit = 64;
// Rows longer than it are read faster by more blocks than a cluster has, as long as the device has
// 32 for each.
constexpr int32_t kMaxClusterLength = 262144;
constexpr int32_t kMinSplit = 32;

int32_t SplitFor(const DeviceTraits& traits, const TopKWork& work) {
  const int64_t blocks_per_row = traits.multiprocessors / std::max<int64_t>(work.rows, 1);
  const int64_t split = std::min<int64_t>(blocks_per_row, work.max_length / kSlice);
  return static_cast<int32_t>(std::clamp<int64_t>(split, 1, kMaxSplit));
}

// Blocks of the cluster that shares a row: as many as leave every row its cluster at once; 0 where
// the device places none.
int32_t ClusterFor(const DeviceTraits& traits, const TopKWork& work) {
  if (traits.clusters_of_8 == 0) return 0;
  if (work.rows <= traits.clusters_of_16) return 16;
  return work.k > kFewResults && work.rows > traits.clusters_of_8 ? 4 : 8;
}

bool ClusterPays(const DeviceTraits& traits, const TopKWork& work) {
  if (ClusterFor(traits, work) == 0 || work.rows > traits.clusters_of_8_shared) return false;
  if (work.rows < kManyRows) return work.max_length > kMinSharedLength;
  return work.max_length >
         (work.k > kFewResults ? kMinSharedLengthOfManyLargeResults - 1 : kMinSharedLengthOfMany);
}

// Vectors in a tile: 8 where a block has its multiprocessor to itself. A bfloat16 tile of 4 holds
// as many scores as the mask of a thread has bits.
int32_t LoadsFor(const DeviceTraits& traits, const TopKWork& work, int32_t split) {
  if (work.dtype == DType::kBfloat16) return 4;
  return work.rows * split <= traits.multiprocessors ? 8 : 4;
}

// Vectors of each of 512 threads that hold a row of the length: a power of two.
int32_t LoadsToHold(const TopKWork& work) {
  const int32_t scores_per_vector = 16 / static_cast<int32_t>(SizeOf(work.dtype));
  const int32_t most = kMaxHeld / (512 * scores_per_vector);
  int32_t loads = most / 4;
  while (loads < most && loads * 512 * scores_per_vector < work.max_length) loads *= 2;
  return loads;
}

}  // namespace

int32_t DefaultPoolThreshold(const DeviceTraits&, DType, int32_t) { return kMinSharedLength; }

TopKPolicy PolicyForRoute(TopKRoute route, const DeviceTraits& traits, const TopKWork& work) {
  TopKPolicy policy;
  policy.route = route;
  policy.max_results = work.k <= kFewResults ? kFewResults : kMaxK;
  policy.pool_threshold = DefaultPoolThreshold(traits, work.dtype, work.k);
  switch (route) {
    case TopKRoute::kExact:
      break;
    case TopKRoute::kShort:
      policy.loads = LoadsToHold(work);
      break;
    case TopKRoute::kStream:
      policy.loads = LoadsFor(traits, work, 1);
      break;
    case TopKRoute::kCluster:
      policy.split = ClusterFor(traits, work);
      if (policy.split < 2) return PolicyForRoute(TopKRoute::kExact, traits, work);
      policy.loads = 4;
      break;
    case TopKRoute::kSplit:
      // A route that is asked for has rows to share, whatever the length says.
      policy.split = std::max(2, SplitFor(traits, work));
      policy.loads = LoadsFor(traits, work, policy.split);
      break;
  }
  policy.release_early = work.rows * policy.split <= traits.multiprocessors;
  return policy;
}

TopKPolicy ChooseTopKPolicy(const DeviceTraits& traits, const TopKWork& work) {
  if (work.max_length <= kMaxHeld) return PolicyForRoute(TopKRoute::kShort, traits, work);
  const bool splits = SplitFor(traits, work) >= kMinSplit && work.max_length > kMaxClusterLength;
  if (!splits && ClusterPays(traits, work)) {
    return PolicyForRoute(TopKRoute::kCluster, traits, work);
  }
  if (splits || work.planned) return PolicyForRoute(TopKRoute::kSplit, traits, work);
  return PolicyForRoute(TopKRoute::kStream, traits, work);
}

std::string ToString(TopKRoute route) {
  switch (route) {
    case TopKRoute::kExact:
      return "exact";
    case TopKRoute::kShort:
      return "short";
    case TopKRoute::kStream:
      return "stream";
    case TopKRoute::kSplit:
      return "split";
    case TopKRoute::kCluster:
      return "cluster";
  }
  return "unknown";
}

std::string ToString(const TopKPolicy& policy) {
  return absl::StrCat(ToString(policy.route), ", max_results ", policy.max_results, ", loads ",
                      policy.loads, ", split ", policy.split, ", pool_threshold ",
                      policy.pool_threshold, policy.release_early ? ", release_early" : "");
}

}  // namespace winnow::cuda
