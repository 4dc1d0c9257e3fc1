// The operations' requests: plain structs for designated initialisers. docs/operations.md says what
// each operation computes. The server checks them; an error names the field as the contract calls
// it. Absent tensors and zeros mean the defaults written beside them. Next: results.h.
//
//   auto result = client.TopK({.scores = Float32Matrix(scores, rows, columns),
//                              .lengths = Int32Column(lengths),
//                              .k = 512});

#ifndef WINNOW_CLIENT_REQUESTS_H_
#define WINNOW_CLIENT_REQUESTS_H_

#include <cstdint>
#include <optional>

#include "winnow/client/tensor.h"
#include "winnow/kernels/dtype.h"
#include "winnow/kernels/operations.h"

namespace winnow::client {

// Routes rows before a top-k with these lengths.
struct PlanTopKRequest {
  TensorRef lengths;                        // int32 [rows, 1]; 0 or less is an empty row
  int32_t columns = 0;                      // capacity of a row, 1 to kMaxColumns
  int32_t k = 0;                            // 1 to kMaxK
  DType dtype = DType::kFloat32;            // of the scores: kFloat32 or kBfloat16
  std::optional<int32_t> static_threshold;  // longer rows go to the pool; absent or negative: the
                                            // server's heuristic
  bool list_pooled_rows = false;
};

// Selects the k largest scores of each row's window.
struct TopKRequest {
  TensorRef scores;         // float32 or bfloat16 [rows, columns]
  TensorRef lengths;        // int32 [rows, 1]: scores in each window; 0 or less is an empty row
  int32_t k = 0;            // 1 to kMaxK
  TensorRef row_starts;     // int32 [rows, 1]: first column of each window; absent: 0
  TensorRef index_offsets;  // int32 [rows, 1], added to the positions in `indices`; absent: 0
  std::optional<PageTableView> page_table;  // needed for slots, refused without them
  Order order = Order::kAny;
  bool deterministic = false;
  Output indices = Placement::kInline;      // int32 [rows, k], padded with -1
  Output slots = Placement::kNone;          // int32 [rows, k], padded with -1
  Output values = Placement::kNone;         // the scores' type [rows, k], padded with -inf
  std::optional<int32_t> static_threshold;  // as in PlanTopKRequest; never changes the result
  ResourceRef plan;  // a plan of the lease, made for exactly these lengths: FailedPrecondition
                     // (PLAN_STALE) otherwise. Not with static_threshold
};

// Maxima over blocks of scores; the last block of a row gets +inf.
struct BlockAmaxRequest {
  TensorRef scores;          // float32 or bfloat16 [rows, columns]
  TensorRef lengths;         // int32 [rows, 1]
  int32_t block_size = 0;    // a power of two, 2 to 128; 0: 8
  int32_t skip_at_most = 0;  // rows of at most so many blocks are left untouched; 0: none is
  int32_t key_columns = 0;   // columns of the keys; 0: ceil(columns / block_size)
  Output keys = Placement::kInline;        // float32 [rows, key columns]
  Output block_counts = Placement::kNone;  // int32 [rows, 1]
};

// The candidate block table: distinct ids ascending, padded with kPaddingBlock.
struct SortCandidateBlocksRequest {
  TensorRef blocks;        // int32 [rows, 1 to kMaxK]: ids in any order, -1 ignored
  TensorRef lengths;       // int32 [rows, 1]: scores, not blocks
  int32_t block_size = 0;  // a power of two, 2 to 128; 0: 8
  std::optional<PageTableView> page_table;      // needed for block_slots; page_size >= block_size
  Output out_blocks = Placement::kInline;       // int32 [rows, width of blocks]
  Output block_slots = Placement::kNone;        // int32 [rows, width of blocks]
  Output candidate_lengths = Placement::kNone;  // int32 [rows, 1]
};

// The source layer's chain: token slots and the candidate block table from one matrix of scores.
struct PublishCandidatesRequest {
  TensorRef scores;   // float32 or bfloat16 [rows, columns]
  TensorRef lengths;  // int32 [rows, 1]
  std::optional<PageTableView> page_table;
  int32_t k = 0;           // tokens kept, 1 to kMaxK; 0: 512
  int32_t k_blocks = 0;    // blocks kept, 1 to kMaxK; 0: 2,048
  int32_t block_size = 0;  // a power of two, 2 to 128; 0: 8
  Order order = Order::kAny;
  bool deterministic = false;
  Output slots = Placement::kInline;              // int32 [rows, k]
  Output indices = Placement::kNone;              // int32 [rows, k]
  Output blocks = Placement::kInline;             // int32 [rows, k_blocks]
  Output block_slots = Placement::kInline;        // int32 [rows, k_blocks]
  Output candidate_lengths = Placement::kInline;  // int32 [rows, 1]
};

// A later layer's call: token slots from scores in candidate order.
struct ConsumeCandidatesRequest {
  TensorRef scores;             // float32 or bfloat16 [rows, columns]
  TensorRef candidate_lengths;  // int32 [rows, 1], as PublishCandidates gave them
  TensorRef block_slots;        // int32 [rows, blocks], as PublishCandidates gave them
  int32_t k = 0;                // 1 to kMaxK; 0: 512
  int32_t block_size = 0;       // a power of two, 2 to 128; 0: 8
  Order order = Order::kAny;
  bool deterministic = false;
  Output slots = Placement::kInline;  // int32 [rows, k]
  Output indices = Placement::kNone;  // int32 [rows, k]: columns of `scores`
  Output values = Placement::kNone;   // the scores' type [rows, k]
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_REQUESTS_H_
