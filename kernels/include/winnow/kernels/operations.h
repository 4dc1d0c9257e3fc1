// Parameters of the operations, the layout of a plan, and the checks that every implementation
// shares. The meaning of each operation is in docs/operations.md; segments.h holds what they read
// and write.

#ifndef WINNOW_KERNELS_OPERATIONS_H_
#define WINNOW_KERNELS_OPERATIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "winnow/kernels/dtype.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/segments.h"

namespace winnow {

enum class Order : int32_t {
  kAny = 0,       // unspecified; ascending positions when deterministic
  kPosition = 1,  // ascending positions
  kScore = 2,     // descending scores, equal ones by ascending position
};

struct TopKParams {
  DType dtype = DType::kFloat32;  // kFloat32 or kBfloat16
  int32_t k = 0;                  // 1 to kMaxK
  Order order = Order::kAny;
  bool deterministic = false;  // of equal scores at the boundary the lowest positions win
};

struct BlockAmaxParams {
  DType dtype = DType::kFloat32;
  int32_t block_size = kDefaultBlockSize;  // a power of two, kMinBlockSize to kMaxBlockSize
  int32_t skip_at_most = 0;  // a row of at most so many blocks is left untouched; 0: never
};

// Lengths are at most kMaxColumns. With candidate_lengths wanted: 0 when no id is written for the
// row, else block_size * (kept - 1) + (length - 1) % block_size + 1 with kept the ids written.
struct SortBlocksParams {
  int32_t width = 0;  // columns of the block table, 1 to kMaxK
  int32_t block_size = kDefaultBlockSize;
};

// scores -> TopK(k, slots) and BlockAmax -> TopK(k_blocks) -> SortCandidateBlocks.
struct PublishParams {
  DType dtype = DType::kFloat32;
  int32_t k = 512;
  int32_t k_blocks = 2048;
  int32_t block_size = kDefaultBlockSize;
  Order order = Order::kAny;
  bool deterministic = false;
};

struct PlanParams {
  DType dtype = DType::kFloat32;
  int32_t k = 0;
  int32_t columns = 0;  // capacity of a row
  int32_t static_threshold =
      -1;  // rows longer than it go to the pool; negative: the device's own heuristic
};

// How one row is selected. kSingleBlock and kStreaming use one thread block (on the CPU: one
// thread); the others share the row and form the pool.
enum class Route : int32_t {
  kIdentity = 0,     // length <= k: nothing to select
  kSingleBlock = 1,  // the row is held in registers
  kStreaming = 2,    // one block reads the row once
  kCluster = 3,      // a thread block cluster shares the row
  kSplit = 4,        // independent blocks share the row; the last one finishes
};
inline constexpr int32_t kRouteCount = 5;

// Why the effective threshold differs from the one asked for.
enum class PlanReason : int32_t {
  kAsRequested = 0,  // static threshold taken literally
  kHeuristic = 1,    // static_threshold was negative
  kNoPool = 2,       // this device has no cooperative route for the request
};

// A row longer than the effective threshold is pooled, whatever k is; of the others those of at
// most k scores (negative lengths count as 0) are kIdentity. route_rows counts each row once.
//
// Start of a plan; int32 lengths[rows] and int32 pooled_rows[rows] (the first pooled_row_count are
// valid, ascending) follow it directly. The same bytes on every device, so that a plan can be read
// back and inspected.
struct PlanHeader {
  int32_t rows = 0;
  int32_t columns = 0;
  int32_t k = 0;
  int32_t dtype = 0;  // DType
  int32_t static_threshold = -1;
  int32_t effective_threshold = -1;  // rows longer than it are pooled; INT32_MAX: no row can be
  int32_t reason = 0;                // PlanReason
  int32_t pooled_row_count = 0;      // > 0: the plan routes rows to the pool
  int32_t route_rows[kRouteCount] = {};
  int32_t pool_width = 0;    // thread blocks (CPU: threads) that share pooled rows at once
  int32_t cluster_size = 0;  // blocks of a cluster; 0: no clusters
  int32_t negative_rows = 0;
};

// Bytes of a plan for `rows` rows.
constexpr int64_t PlanBytes(int32_t rows) {
  return static_cast<int64_t>(sizeof(PlanHeader)) + 2 * static_cast<int64_t>(rows) * 4;
}

// Checks that need no device memory: parameters, shapes, strides, pointers that must be there,
// products that must fit. Each implementation calls them before it enqueues anything.
// InvalidArgument names the field, the value and the limit; `segments[i].` stands before the field
// when there is more than one segment.
absl::Status CheckTopK(const TopKParams& params, absl::Span<const TopKSegment> segments);
absl::Status CheckBlockAmax(const BlockAmaxParams& params,
                            absl::Span<const BlockAmaxSegment> segments);
absl::Status CheckSortBlocks(const SortBlocksParams& params,
                             absl::Span<const SortBlocksSegment> segments);
absl::Status CheckPublish(const PublishParams& params, absl::Span<const PublishSegment> segments);
absl::Status CheckPlan(const PlanParams& params, int32_t rows);

// InvalidArgument (FailedPrecondition for kPlanStale) that says what `fault` holds; Ok when it
// holds none.
absl::Status StatusFromFault(const FaultRecord& fault);

}  // namespace winnow

#endif  // WINNOW_KERNELS_OPERATIONS_H_
