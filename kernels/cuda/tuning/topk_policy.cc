#include "kernels/cuda/tuning/topk_policy.h"

#include <algorithm>
#include <bit>

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
// Scores that a block of a split row should have.
constexpr int32_t kSlice = 8192;
// Blocks that may share a row; below kMaxParts of gather_survivors.cuh.
constexpr int32_t kMaxSplit = 64;
// A single row longer than this is read faster by more blocks than a cluster has.
constexpr int32_t kMaxClusterLength = 262144;
// Bytes of a row from which a wider cluster pays although its blocks share multiprocessors: 16
// instead of 8, and 8 instead of 4.
constexpr int64_t kMinBytesOfSixteen = 1 << 20;
constexpr int64_t kMinBytesOfEight = 1 << 18;
// Bytes of a row from which clusters of 4 pay that are more than fit at once without sharing.
constexpr int64_t kMinBytesOfCrowdedClusters = 1 << 17;
// Rows of bfloat16 so long that L2 has lost what passed, with two blocks on each multiprocessor.
constexpr int32_t kMinLengthOfKeptBfloat16 = 131072;

int64_t RowBytes(const TopKWork& work) { return work.max_length * SizeOf(work.dtype); }

int32_t SplitFor(const DeviceTraits& traits, const TopKWork& work) {
  const int64_t blocks_per_row = traits.multiprocessors / std::max<int64_t>(work.rows, 1);
  const int64_t split = std::min<int64_t>(blocks_per_row, work.max_length / kSlice);
  // A power of two, so that equal groups of threads gather what the blocks leave.
  return static_cast<int32_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(split, 1, kMaxSplit))));
}

// Blocks of the cluster that shares a row; 0 where the device places none, or too few at once.
int32_t ClusterFor(const DeviceTraits& traits, const TopKWork& work) {
  if (traits.clusters_of_8 == 0) return 0;
  if (work.rows <= traits.clusters_of_16) return 16;
  // Of the kernels for few results two blocks fit a multiprocessor.
  const int64_t bytes = work.k <= kFewResults ? RowBytes(work) : 0;
  if (bytes >= kMinBytesOfSixteen && work.rows <= traits.clusters_of_16_shared) return 16;
  if (work.rows <= traits.clusters_of_8) return 8;
  if (bytes >= kMinBytesOfEight && work.rows <= traits.clusters_of_8_shared) return 8;
  return 4;
}

bool ClusterPays(const DeviceTraits& traits, const TopKWork& work) {
  if (ClusterFor(traits, work) == 0) return false;
  if (work.rows > traits.clusters_of_8_shared) {
    return work.k <= kFewResults &&
           4 * work.rows <= traits.multiprocessors + traits.multiprocessors / 2 &&
           RowBytes(work) >= kMinBytesOfCrowdedClusters;
  }
  return RowBytes(work) > int64_t{kMinSharedLength} * int64_t{sizeof(float)} ||
         (work.rows <= traits.clusters_of_8 && work.max_length > kMinSharedLength);
}

// Whether independent blocks read the rows faster than clusters or one block each.
bool SplitPays(const DeviceTraits& traits, const TopKWork& work) {
  if (SplitFor(traits, work) < 2 || work.max_length <= kMaxClusterLength) return false;
  if (work.rows == 1 || traits.clusters_of_8 == 0) return true;
  // Clusters that are not placed all at once.
  return work.k > kFewResults && work.rows > traits.clusters_of_8_shared &&
         SplitFor(traits, work) >= 4;
}

// Taking the keys as scores pass costs every tile a little; fetching them later costs a sector of
// memory each once L2 has lost them. It pays where all multiprocessors stream at once.
bool KeepsKeys(const DeviceTraits& traits, const TopKWork& work) {
  if (work.dtype == DType::kBfloat16) {
    return work.rows > traits.multiprocessors && work.max_length >= kMinLengthOfKeptBfloat16;
  }
  return 4 * work.rows >= 3 * int64_t{traits.multiprocessors};
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
  policy.keep_keys = route == TopKRoute::kStream && KeepsKeys(traits, work);
  return policy;
}

TopKPolicy ChooseTopKPolicy(const DeviceTraits& traits, const TopKWork& work) {
  if (work.max_length <= kMaxHeld) return PolicyForRoute(TopKRoute::kShort, traits, work);
  const bool splits = SplitPays(traits, work);
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
                      policy.pool_threshold, policy.release_early ? ", release_early" : "",
                      policy.keep_keys ? ", keep_keys" : "");
}

}  // namespace winnow::cuda
