#include "server/batching/flow_queue.h"

#include <algorithm>

namespace winnow::server {
namespace {

// What a row costs besides its bytes, so that a flow of tiny requests is not served for free.
constexpr int64_t kBytesPerRow = 4096;
// Flows without work that are remembered because they were served more than their share.
constexpr size_t kMaxIdleFlows = 256;

}  // namespace

struct FlowQueue::Flow {
  int64_t id = 0;
  int32_t weight = 1;
  int64_t service = 0;  // bytes served, divided by the weight
  std::vector<std::unique_ptr<Lane>> lanes;

  bool active() const { return !lanes.empty(); }
};

// Entries of one flow and one key.
struct FlowQueue::Lane {
  Flow* flow = nullptr;
  Group* group = nullptr;
  size_t place_in_group = 0;
  std::set<Entry*, EarlierDeadline> entries;
};

// Lanes of one key over all flows.
struct FlowQueue::Group {
  std::string key;
  std::vector<Lane*> lanes;
};

FlowQueue::FlowQueue() = default;
FlowQueue::~FlowQueue() = default;

FlowQueue::Flow& FlowQueue::FlowOf(const Entry& entry) {
  std::unique_ptr<Flow>& flow = flows_[entry.flow_id];
  if (flow == nullptr) {
    flow = std::make_unique<Flow>();
    flow->id = entry.flow_id;
  }
  flow->weight = std::max(entry.flow_weight, 1);
  if (!flow->active()) {
    // Time spent without work earns nothing, and service beyond the share is not forgotten.
    flow->service = std::max(flow->service, virtual_time_);
  }
  return *flow;
}

FlowQueue::Lane& FlowQueue::LaneOf(Flow& flow, const std::string& key) {
  for (const auto& lane : flow.lanes) {
    if (lane->group->key == key) return *lane;
  }
  std::unique_ptr<Group>& group = groups_[key];
  if (group == nullptr) {
    group = std::make_unique<Group>();
    group->key = key;
  }
  if (!flow.active()) active_.emplace(flow.service, &flow);
  flow.lanes.push_back(std::make_unique<Lane>());
  Lane* lane = flow.lanes.back().get();
  lane->flow = &flow;
  lane->group = group.get();
  lane->place_in_group = group->lanes.size();
  group->lanes.push_back(lane);
  return *lane;
}

void FlowQueue::Push(Entry* entry) {
  Lane& lane = LaneOf(FlowOf(*entry), entry->key);
  entry->lane = &lane;
  lane.entries.insert(entry);
  if (entry->deadline != absl::InfiniteFuture()) deadlines_.emplace(entry->deadline, entry);
  ++size_;
}

void FlowQueue::Remove(Entry* entry) {
  Lane* lane = entry->lane;
  lane->entries.erase(entry);
  if (entry->deadline != absl::InfiniteFuture()) deadlines_.erase({entry->deadline, entry});
  entry->lane = nullptr;
  --size_;
  DropLaneIfEmpty(lane);
}

void FlowQueue::DropLaneIfEmpty(Lane* lane) {
  if (!lane->entries.empty()) return;
  Group* group = lane->group;
  // The last one takes its place: a group may have a lane for each of many flows.
  Lane* last = group->lanes.back();
  group->lanes[lane->place_in_group] = last;
  last->place_in_group = lane->place_in_group;
  group->lanes.pop_back();
  if (group->lanes.empty()) groups_.erase(std::string(group->key));
  Flow* flow = lane->flow;
  std::erase_if(flow->lanes, [lane](const auto& owned) { return owned.get() == lane; });
  if (flow->active()) return;
  active_.erase({flow->service, flow});
  // Nobody waited at the end of a busy time, so nobody is owed anything.
  if (active_.empty()) return flows_.clear();
  if (flow->service <= virtual_time_) {
    flows_.erase(int64_t{flow->id});
  } else if (flows_.size() > 2 * active_.size() + kMaxIdleFlows) {
    absl::erase_if(flows_, [](const auto& known) { return !known.second->active(); });
  }
}

// The lane with the entry that is next in fair order; the queue is not empty.
FlowQueue::Lane* FlowQueue::FairestLane() {
  const Flow* flow = active_.begin()->second;
  Lane* best = nullptr;
  for (const auto& lane : flow->lanes) {
    if (best == nullptr || EarlierDeadline()(*lane->entries.begin(), *best->entries.begin())) {
      best = lane.get();
    }
  }
  return best;
}

void FlowQueue::Charge(Flow& flow, int64_t rows, int64_t bytes) {
  virtual_time_ = std::max(virtual_time_, flow.service);
  const int64_t cost = bytes + rows * kBytesPerRow + kBytesPerRow;
  const bool active = active_.erase({flow.service, &flow}) > 0;
  flow.service += std::max<int64_t>(1, cost / flow.weight);
  if (active) active_.emplace(flow.service, &flow);
}

// As much of the entry as there is room for; no rows when there is none. Removes it from the queue
// when nothing is left.
FlowQueue::Part FlowQueue::TakePart(Entry* entry, const BatchLimits& room, bool first) {
  Part part{.entry = entry, .first_row = entry->next_row, .rows = entry->rows};
  const bool fits = entry->rows <= room.rows && entry->bytes <= room.bytes;
  if (!fits && !(first && !entry->divisible)) {
    if (!entry->divisible) return {};
    const int64_t row_bytes =
        std::max<int64_t>(1, entry->bytes / std::max<int64_t>(1, entry->rows));
    part.rows = std::min({entry->rows, room.rows, room.bytes / row_bytes});
    if (first) part.rows = std::max<int64_t>(part.rows, 1);
    if (part.rows <= 0) return {};
  }
  part.last = part.rows == entry->rows;
  const int64_t bytes = part.last ? entry->bytes : entry->bytes / entry->rows * part.rows;
  Charge(*entry->lane->flow, part.rows, bytes);
  entry->rows -= part.rows;
  entry->bytes -= bytes;
  entry->next_row += part.rows;
  if (part.last) Remove(entry);
  return part;
}

std::vector<FlowQueue::Part> FlowQueue::Take(const BatchLimits& limits, absl::Time now,
                                             std::vector<Entry*>& expired) {
  std::vector<Part> parts;
  if (size_ == 0) return parts;
  // Lanes of the chosen key; the least served flow on top. Flows gain service as they are taken
  // from, so lanes are pushed back with their new place.
  using Place = std::pair<int64_t, Lane*>;
  const auto later = [](const Place& a, const Place& b) { return a.first > b.first; };
  std::vector<Place> heap;
  Lane* fairest = FairestLane();
  for (Lane* lane : fairest->group->lanes) heap.emplace_back(lane->flow->service, lane);
  std::make_heap(heap.begin(), heap.end(), later);
  BatchLimits room = limits;
  while (!heap.empty() && room.items > 0) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Lane* lane = heap.back().second;
    heap.pop_back();
    Entry* entry = *lane->entries.begin();
    const Flow* flow = lane->flow;
    const bool more = lane->entries.size() > 1;
    if (entry->deadline <= now) {
      Remove(entry);
      expired.push_back(entry);
    } else {
      const int64_t bytes_before = entry->bytes;
      const Part part = TakePart(entry, room, parts.empty());
      if (part.entry == nullptr) break;
      parts.push_back(part);
      --room.items;
      room.rows -= part.rows;
      room.bytes -= bytes_before - entry->bytes;
      if (!part.last) break;
    }
    if (more) {
      heap.emplace_back(flow->service, lane);
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  return parts;
}

std::vector<FlowQueue::Entry*> FlowQueue::RemoveExpired(absl::Time now) {
  std::vector<Entry*> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    expired.push_back(deadlines_.begin()->second);
    Remove(expired.back());
  }
  return expired;
}

std::vector<FlowQueue::Entry*> FlowQueue::RemoveFlow(int64_t flow_id) {
  std::vector<Entry*> removed;
  const auto flow = flows_.find(flow_id);
  if (flow == flows_.end()) return removed;
  for (const auto& lane : flow->second->lanes) {
    removed.insert(removed.end(), lane->entries.begin(), lane->entries.end());
  }
  for (Entry* entry : removed) Remove(entry);
  return removed;
}

std::vector<FlowQueue::Entry*> FlowQueue::RemoveAll() {
  std::vector<Entry*> removed;
  while (!active_.empty()) {
    const std::vector<Entry*> of_flow = RemoveFlow(active_.begin()->second->id);
    removed.insert(removed.end(), of_flow.begin(), of_flow.end());
  }
  return removed;
}

absl::Time FlowQueue::NextDeadline() const {
  return deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
}

}  // namespace winnow::server
