// Runs one batch at a time on a stream of its own: stages, enqueues each step once for all items,
// waits, and fills in each item's status, results and times. A backend has one for each launch
// slot, and others whose batches are begun on one thread and finished on another.

#ifndef WINNOW_SERVER_BACKEND_LAUNCH_EXECUTOR_H_
#define WINNOW_SERVER_BACKEND_LAUNCH_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/backend/memory_pool.h"
#include "server/backend/staged_launch.h"
#include "server/backend/work.h"
#include "winnow/kernels/device.h"

namespace winnow::server {

// What a batch did, for the backend's counters.
struct LaunchCounts {
  int64_t launches = 0;
  int64_t items = 0;
  int64_t rows = 0;
  int64_t faults = 0;
  int64_t route_rows[kRouteCount] = {};
  absl::Duration device_busy;
};

// Thread safety: one thread at a time; Begin, Done and Finish may each be another one.
class LaunchExecutor {
 public:
  // `pinned` is null when the device works on host memory. All outlive the executor.
  static absl::StatusOr<std::unique_ptr<LaunchExecutor>> Create(Device* device, MemoryPool* staging,
                                                                MemoryPool* pinned);

  // Returns when every item has its outcome. Waits for staging memory when others hold it; items
  // that do not fit together are run one part after another.
  LaunchCounts Execute(WorkBatch& batch);

  // The same in two parts. Begin stages and enqueues, and never waits. When it returns true,
  // Finish does not wait once Done says so; when it returns false, Finish does the work and may
  // wait: the batch is large, waits for a word, finds no staging memory free, or was refused.
  // `batch` must stay until Finish, which is called once for each Begin.
  bool Begin(WorkBatch& batch);
  // Whether the device is done with what Begin enqueued, or lost. A glance looks only at a word in
  // this process's memory, where the device sets one, and sees no loss: asking the driver takes a
  // lock that threads which enqueue want.
  enum class Look { kGlance, kAsk };
  bool Done(Look look);
  LaunchCounts Finish();

 private:
  using Items = absl::Span<WorkItem* const>;
  // One launch that is under way.
  struct Run {
    std::unique_ptr<PoolPiece> device_memory, host_memory;
    int64_t workspace_bytes = 0;
    bool mapped = false;  // the device reads and writes the pinned mirror itself
    bool waits = false;   // for a word that another process sets
    // The done word alone tells the end: no event was recorded, unless the driver was asked.
    bool by_word = false;
    bool asked = false;
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point enqueued, seen_done;
    absl::Duration launch_time, device_time;
  };

  LaunchExecutor(Device* device, MemoryPool* staging, MemoryPool* pinned);

  void Open(WorkBatch& batch);
  LaunchCounts Close(const WorkBatch& batch);
  bool MayBegin(const WorkBatch& batch) const;
  bool Fits(const StagedLaunch& launch) const;
  void ExecuteItems(Items items);
  void ExecuteHalves(Items items);
  // Results or errors of a launch that ran or failed with `status`.
  void Settle(StagedLaunch& launch, Run& run, const absl::Status& status);
  enum class Memory { kAwait, kOnlyIfFree };
  // Allocates, copies in, enqueues the steps.
  absl::Status StartLaunch(StagedLaunch& launch, Run& run, Memory memory);
  // Waits for the end, copies out.
  absl::Status EndLaunch(StagedLaunch& launch, Run& run);
  // Of what Begin enqueued.
  bool WordIsSet() const;
  bool DriverSaysDone();
  absl::Status AwaitEndByEvents(Run& run);
  absl::Status AwaitEndByWord(Run& run);
  // Finds out whether the device can set words in pinned memory.
  absl::Status OpenDoneWord();
  absl::Status BindMemory(StagedLaunch& launch, Run& run, Memory memory);
  bool MayMap(const StagedLaunch& launch) const;
  absl::Status Enqueue(StagedLaunch& launch, Run& run);
  absl::Status EnqueueSteps(const StagedLaunch& launch, Run& run);
  // The words of the items: the wait before the steps, what is set after them, and the end of a
  // wait that took too long.
  absl::Status EnqueueWait(Items items, Run& run);
  absl::Status EnqueueSets(Items items);
  absl::Status AwaitStart(Items items, Run& run);
  absl::Status EndWait(const WorkOrdering& ordering, Run& run);
  void FinishItems(const StagedLaunch& launch, const Run& run);
  // Rows by route, from the plan that a step was given or from the one the device makes for lengths
  // that the host can see. Lengths in a GPU's memory stay uncounted without a plan: reading them
  // back would cost more than the selection.
  void CountRoutes(const StagedLaunch& launch, size_t item);
  bool PlanOnHost(const PlanParams& params, int64_t rows, const std::byte* lengths,
                  PlanHeader& header);

  Device* const device_;
  MemoryPool* const staging_;
  MemoryPool* const pinned_;
  std::unique_ptr<Stream> normal_stream_, high_stream_;
  std::unique_ptr<Event> started_, finished_;
  Stream* stream_ = nullptr;  // of the batch that runs
  // Set by the device to the number of the launch that has ended; null when it sets none.
  std::unique_ptr<PoolPiece> done_memory_;
  std::byte* done_word_ = nullptr;
  uint32_t launches_begun_ = 0;
  // Between Begin and Finish. Without a launch Begin left everything to Finish.
  WorkBatch* begun_ = nullptr;
  std::optional<StagedLaunch> begun_launch_;
  Run begun_run_;
  absl::Status begun_status_;
  std::vector<std::byte> plan_scratch_;
  LaunchCounts counts_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_LAUNCH_EXECUTOR_H_
