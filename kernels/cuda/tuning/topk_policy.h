// Which kernels serve a top-k launch, and with what numbers. Pure functions: no GPU, no state; a
// test reads their answers and tests/bench measures them.

#ifndef WINNOW_KERNELS_CUDA_TUNING_TOPK_POLICY_H_
#define WINNOW_KERNELS_CUDA_TUNING_TOPK_POLICY_H_

#include <cstdint>
#include <string>

#include "kernels/cuda/tuning/device_traits.h"
#include "winnow/kernels/dtype.h"

namespace winnow::cuda {

enum class TopKRoute : int32_t {
  kExact = 0,    // one block a row, which it reads several times
  kShort = 1,    // one block a row, which it holds in registers
  kStream = 2,   // one block a row, which it reads once
  kSplit = 3,    // several blocks a row, and a second kernel that selects
  kCluster = 4,  // a cluster of blocks a row, whose first block selects
};
inline constexpr int32_t kTopKRouteCount = 5;

// What is known of a launch before it.
struct TopKWork {
  DType dtype = DType::kFloat32;
  int32_t k = 0;
  int64_t rows = 0;        // of all segments
  int32_t max_length = 0;  // no row is believed to be longer
  bool planned = false;    // a segment brings a plan, whose threshold decides which rows are shared
};

struct TopKPolicy {
  TopKRoute route = TopKRoute::kExact;
  int32_t max_results = 0;     // results that the kernel has room for: 512 or 2048
  int32_t loads = 0;           // kShort: vectors of a thread; kStream, kSplit: vectors in a tile
  int32_t split = 1;           // blocks that share a row
  int32_t pool_threshold = 0;  // rows longer than it are shared
  bool release_early = false;  // the next kernel may start while this one runs
  bool keep_keys = false;      // keys are taken as scores pass; otherwise fetched later, from L2
  friend bool operator==(const TopKPolicy&, const TopKPolicy&) = default;
};

// The fastest policy known for the work. Every policy is right for every input: a row that is
// longer than max_length says is served all the same, only slower.
TopKPolicy ChooseTopKPolicy(const DeviceTraits& traits, const TopKWork& work);

// The best numbers for one route, fit or not.
TopKPolicy PolicyForRoute(TopKRoute route, const DeviceTraits& traits, const TopKWork& work);

// Length above which a row is worth sharing when the plan's caller leaves it to the device.
int32_t DefaultPoolThreshold(const DeviceTraits& traits, DType dtype, int32_t k);

// "exact", "short", "stream", "split" or "cluster".
std::string ToString(TopKRoute route);
// "split, max_results 512, loads 4, split 16, pool_threshold 16384, release_early".
std::string ToString(const TopKPolicy& policy);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_TUNING_TOPK_POLICY_H_
