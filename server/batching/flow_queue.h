// Waiting tasks of one class, in fair order: flows share by weight, and inside a flow the earliest
// deadline goes first. Tasks of one key are taken together. Pure data without threads or clock.
// Next: batch_policy.h for which queue goes next, scheduler.cc for who calls both.

#ifndef WINNOW_SERVER_BATCHING_FLOW_QUEUE_H_
#define WINNOW_SERVER_BATCHING_FLOW_QUEUE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace winnow::server {

// Bounds of one launch.
struct BatchLimits {
  int32_t items = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
};

// Thread safety: none; the owner guards it.
class FlowQueue {
 public:
  struct Lane;

  // A waiting task as the queue sees it. Owned by the caller, who keeps it while it is queued.
  struct Entry {
    int64_t flow_id = 0;
    int32_t flow_weight = 1;
    absl::Time deadline = absl::InfiniteFuture();
    int64_t sequence = 0;    // order of arrival
    std::string key;         // entries of one key may be launched together
    int64_t rows = 0;        // not yet taken
    int64_t bytes = 0;       // not yet taken
    bool divisible = false;  // may be taken in parts of some rows each
    int64_t next_row = 0;    // rows taken so far

    void* owner = nullptr;  // the caller's own

    Lane* lane = nullptr;  // the queue's own: where the entry waits; null when it does not
    bool queued() const { return lane != nullptr; }
  };

  // Rows [first_row, first_row + rows) of an entry; `last` when nothing of it is left in the queue.
  struct Part {
    Entry* entry = nullptr;
    int64_t first_row = 0;
    int64_t rows = 0;
    bool last = true;
  };

  FlowQueue();
  ~FlowQueue();
  FlowQueue(const FlowQueue&) = delete;
  FlowQueue& operator=(const FlowQueue&) = delete;

  void Push(Entry* entry);
  void Remove(Entry* entry);

  // Takes what goes into the next launch: the fairest entry, then others of its key in fair order
  // until a limit is reached. The first one is taken even when it alone is over the limits and not
  // divisible. Entries whose deadline is `now` or earlier leave the queue into `expired` instead.
  // May return nothing when all that it saw had expired.
  std::vector<Part> Take(const BatchLimits& limits, absl::Time now, std::vector<Entry*>& expired);

  // Entries whose deadline is `now` or earlier leave the queue.
  std::vector<Entry*> RemoveExpired(absl::Time now);
  std::vector<Entry*> RemoveFlow(int64_t flow_id);
  std::vector<Entry*> RemoveAll();

  // Earliest deadline of all; InfiniteFuture without any.
  absl::Time NextDeadline() const;

  int64_t size() const { return size_; }

 private:
  struct Flow;
  struct Group;
  struct EarlierDeadline {
    bool operator()(const Entry* a, const Entry* b) const {
      return std::pair(a->deadline, a->sequence) < std::pair(b->deadline, b->sequence);
    }
  };

  Flow& FlowOf(const Entry& entry);
  Lane& LaneOf(Flow& flow, const std::string& key);
  void DropLaneIfEmpty(Lane* lane);
  Lane* FairestLane();
  Part TakePart(Entry* entry, const BatchLimits& room, bool first);
  void Charge(Flow& flow, int64_t rows, int64_t bytes);

  absl::flat_hash_map<int64_t, std::unique_ptr<Flow>> flows_;
  absl::flat_hash_map<std::string, std::unique_ptr<Group>> groups_;
  // Flows with waiting entries, the one that was served least first.
  std::set<std::pair<int64_t, Flow*>> active_;
  std::set<std::pair<absl::Time, Entry*>> deadlines_;  // finite ones
  int64_t virtual_time_ = 0;                           // service received by the flow served last
  int64_t size_ = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_FLOW_QUEUE_H_
