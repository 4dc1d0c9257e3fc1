// What a backend executes: work items (one request each) made of steps, and what it gives back.
// Plain types without gRPC or CUDA; the rpc layer fills them, the batching layer groups them, the
// backend turns them into launches. Next: backend.h for who executes them.

#ifndef WINNOW_SERVER_BACKEND_WORK_H_
#define WINNOW_SERVER_BACKEND_WORK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "winnow/kernels/operations.h"

namespace winnow::server {

// Names of what steps produce; a later step or the reply refers to them.
enum class OutputName : int32_t {
  kNone = 0,
  kIndices = 1,           // TopK, Publish: int32 [rows, k]
  kSlots = 2,             // TopK, Publish: int32 [rows, k]
  kValues = 3,            // TopK: scores' dtype [rows, k]
  kKeys = 4,              // BlockAmax: float32 [rows, key columns]
  kBlockCounts = 5,       // BlockAmax: int32 [rows, 1]
  kBlocks = 6,            // SortCandidateBlocks, Publish: int32 [rows, width]
  kBlockSlots = 7,        // SortCandidateBlocks, Publish: int32 [rows, width]
  kCandidateLengths = 8,  // SortCandidateBlocks, Publish: int32 [rows, 1]
};

// An input matrix. Does not own its data: the work item's `keep_alive` does.
struct TensorRef {
  enum class Source {
    kAbsent,
    kHost,    // `data` is host memory of the request; the backend stages it when the device cannot
              // read it
    kDevice,  // `data` is memory of the backend's device
    kStep,    // output `output` of the earlier step `step` of the same item
  };
  Source source = Source::kAbsent;
  DType dtype = DType::kUnspecified;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;  // elements; 0: columns. Not looked at for kStep
  const std::byte* data = nullptr;
  int32_t step = -1;
  OutputName output = OutputName::kNone;

  bool present() const { return source != Source::kAbsent; }
};

// Where one output of a step goes.
struct OutputRef {
  enum class Placement {
    kAbsent,  // not wanted
    kInline,  // to the reply, as host bytes
    kHost,    // to `data`, host memory that outlives the item
    kDevice,  // to `data`, memory of the backend's device
    kKeep,    // stays on the device for later steps of the item
  };
  Placement placement = Placement::kAbsent;
  std::byte* data = nullptr;
  int64_t row_stride = 0;  // elements, for kHost and kDevice; 0: as wide as the output

  bool wanted() const { return placement != Placement::kAbsent; }
};

struct PageTableRef {
  TensorRef table;  // int32 [table rows, pages]
  TensorRef rows;   // int32 [score rows, 1]; absent: row r uses table row r
  int32_t page_size = 0;
  int32_t pool_pages = 0;    // 0: not declared
  bool is_resource = false;  // of the lease: the request has no table of its own to name in errors
};

struct TopKStep {
  TopKParams params;
  TensorRef scores, lengths, row_starts, index_offsets;
  PageTableRef pages;
  OutputRef indices, slots, values;
  // A static threshold, planned for within the item; absent: the device plans for itself.
  bool has_static_threshold = false;
  int32_t static_threshold = -1;
  const std::byte* plan = nullptr;  // device memory of a plan resource; null: none
  int32_t max_length = 0;           // routing hint, as in TopKSegment
};

struct BlockAmaxStep {
  BlockAmaxParams params;
  TensorRef scores, lengths;
  int32_t key_columns = 0;
  OutputRef keys, block_counts;
};

struct SortBlocksStep {
  SortBlocksParams params;
  TensorRef blocks, lengths;
  PageTableRef pages;
  OutputRef blocks_out, block_slots, candidate_lengths;
  int32_t max_length = 0;
};

struct PublishStep {
  PublishParams params;
  TensorRef scores, lengths;
  PageTableRef pages;
  OutputRef slots, indices, blocks, block_slots, candidate_lengths;
  int32_t max_length = 0;
};

using Step = std::variant<TopKStep, BlockAmaxStep, SortBlocksStep, PublishStep>;

// One host-side output of a step.
struct OutputTensor {
  OutputName name = OutputName::kNone;
  DType dtype = DType::kUnspecified;
  int64_t rows = 0;
  int64_t columns = 0;
  std::string data;  // row-major little-endian, rows * columns elements; moved into the reply
                     // without a copy
};

struct StepResult {
  std::vector<OutputTensor> outputs;  // those placed inline, in the order of OutputName
  int32_t negative_rows = 0;
  int32_t route_rows[kRouteCount] = {};  // rows by route; TopK and Publish only
};

// When an item passed each point. Queue times belong to batching, the rest to the backend.
struct WorkTiming {
  absl::Duration queued;    // submit to launch
  absl::Duration launch;    // staging and enqueueing, host side
  absl::Duration device;    // see Timing.device_duration in steps.proto
  absl::Duration total;     // submit to completion
  int32_t batch_items = 0;  // requests that shared the launch
  int64_t batch_rows = 0;
};

// Why a wait for a word was ended from outside.
enum class WaitEnd : int32_t { kNone = 0, kDraining = 1, kLeaseEnded = 2 };

// How an item is ordered with what other processes do on the device, by 32-bit words in memory that
// the device reads and writes; `keep_alive` owns it. Only devices that share memory have words.
struct WorkOrdering {
  std::byte* wait_word = nullptr;  // the item starts when it holds wait_value or is past it
  uint32_t wait_value = 0;
  absl::Duration wait_timeout =
      absl::Seconds(1);           // then the backend ends the wait, and fails the item
  std::byte* set_word = nullptr;  // set when the item's outputs are written, whatever its data were
  uint32_t set_value = 0;

  // Set by whoever ends the wait early, from any thread; null: nobody does.
  std::shared_ptr<std::atomic<WaitEnd>> wait_end;

  bool any() const { return wait_word != nullptr || set_word != nullptr; }
};

// One request as the backend sees it. Move only; owned by its batch while it runs.
struct WorkItem {
  std::vector<Step> steps;
  int64_t first_row = 0;  // added to rows in errors: the item is a slice of a request from this row
  WorkOrdering ordering;
  std::shared_ptr<const void>
      keep_alive;  // owns every host and device range that `steps` points into

  // Written by the backend.
  absl::Status status;
  std::vector<StepResult> results;  // one per step when status is Ok
  WorkTiming timing;
};

// Items whose steps have the same shape of work: the same operations with the same parameters, so
// that each step is one launch over all items. See BatchKey in work_key.h.
struct WorkBatch {
  std::vector<WorkItem*> items;  // outlive the batch
  bool high_priority = false;
  // The caller lets Launch do the work and call back before it returns, when that is quicker than
  // waking a thread of the backend.
  bool may_run_inline = false;
  // On a device that works in host memory the batch leaves its cores to who waits for them, every
  // now and then: urgent requests are about.
  bool gives_way = false;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_WORK_H_
