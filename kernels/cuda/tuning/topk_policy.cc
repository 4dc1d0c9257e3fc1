#include "kernels/cuda/tuning/topk_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {
namespace {

// Results of the smaller kernels, whose candidate buffer leaves more shared memory to a neighbour.
constexpr int32_t kFewResults = 512;
// One block reads up to here as fast as several that have to bring their survivors together.
constexpr int32_t kMinSharedLength = 16384;
// Scores below which a block of a shared row has too little to do.
constexpr int32_t kMinSlice = 4096;
// Blocks that may share a row; kMaxParts of gather_survivors.cuh.
constexpr int32_t kMaxSplit = 256;
// From this length on a row is worth sharing even when the rows alone fill a quarter of the device.
constexpr int32_t kVeryLong = 262144;
// A slice from here on pays for twice the loads in flight with one block on a multiprocessor.
constexpr int32_t kDeepSlice = 65536;

int32_t SplitFor(const DeviceTraits& traits, const TopKWork& work) {
  const int64_t blocks_per_row = traits.multiprocessors / std::max<int64_t>(work.rows, 1);
  if (4 * work.rows > traits.multiprocessors && work.max_length < kVeryLong) return 1;
  const int64_t split = std::min<int64_t>(blocks_per_row, work.max_length / kMinSlice);
  return static_cast<int32_t>(std::clamp<int64_t>(split, 1, kMaxSplit));
}

// Vectors in a tile: 8 where a block has its multiprocessor to itself. A bfloat16 tile of 4 holds
// as many scores as the mask of a thread has bits.
int32_t LoadsFor(const DeviceTraits& traits, const TopKWork& work, int32_t split) {
  if (work.dtype == DType::kBfloat16) return 4;
  const bool alone = work.rows * split <= traits.multiprocessors;
  return alone && work.max_length / split >= kDeepSlice ? 8 : 4;
}

// Scores that the threads of the short route hold at most.
constexpr int32_t kMaxHeld = 16384;

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
  const bool shares = work.planned || SplitFor(traits, work) > 1;
  if (shares && work.max_length > kMinSharedLength) {
    return PolicyForRoute(TopKRoute::kSplit, traits, work);
  }
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
  }
  return "unknown";
}

std::string ToString(const TopKPolicy& policy) {
  return absl::StrCat(ToString(policy.route), ", max_results ", policy.max_results, ", loads ",
                      policy.loads, ", split ", policy.split, ", pool_threshold ",
                      policy.pool_threshold, policy.release_early ? ", release_early" : "");
}

}  // namespace winnow::cuda
