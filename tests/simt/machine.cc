#include "tests/simt/machine.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simt/fiber.h"
#include "tests/testing/random.h"

namespace winnow::simt {
namespace {

constexpr uint32_t kWarp = 32;

enum class State { kReady, kInWarp, kAtBlock, kAtCluster, kDone };

struct Lane {
  void* stack_pointer = nullptr;
  State state = State::kReady;
  WarpOperation operation = WarpOperation::kBallot;
  uint64_t value = 0;
  uint32_t argument = 0;
  bool predicate = false;
  uint64_t result = 0;
};

[[noreturn]] void Fail(const char* what, uint32_t block, uint32_t thread) {
  std::fprintf(stderr, "simt: %s (block %u, thread %u)\n", what, block, thread);
  std::abort();
}

// The machine: there is one, and one grid at a time is on it.
class Machine {
 public:
  static Machine& Get() {
    static auto* const machine = new Machine();
    return *machine;
  }

  void Run(const GridShape& shape, absl::FunctionRef<void()> body);

  const Position& here() const { return here_; }
  std::byte* shared(uint32_t rank) { return shared_[rank].data(); }
  uint32_t rank() const { return rank_; }

  // Gives control back until the running lane, whose `state` says what it waits for, may go on.
  uint64_t Wait(State state) {
    Lane& lane = lanes_[running_];
    lane.state = state;
    WinnowSwitchFiber(&lane.stack_pointer, scheduler_);
    return lane.result;
  }
  Lane& running() { return lanes_[running_]; }

 private:
  Machine() : random_(testing::SeedFromEnvironment("WINNOW_SIMT_SEED")) {}

  static void EnterLane();
  void Shuffle(std::vector<uint32_t>& order);
  void StartCluster(uint32_t first_block);
  void RunCluster();
  bool RunWarp(uint32_t warp);
  bool RunReadyLanes(uint32_t warp);
  bool ExchangeIfComplete(uint32_t warp);
  bool PassBlockBarrier(uint32_t rank);
  bool PassClusterBarrier();
  uint32_t CountState(uint32_t first, uint32_t count, State state) const;

  std::mutex mutex_;
  testing::Random random_;
  GridShape shape_;
  const absl::FunctionRef<void()>* body_ = nullptr;
  std::vector<Lane> lanes_;  // of a cluster
  std::vector<FiberStack> stacks_;
  std::array<std::vector<std::byte>, kMaxClusterBlocks> shared_;
  void* scheduler_ = nullptr;
  uint32_t running_ = 0;
  uint32_t first_block_ = 0;
  uint32_t rank_ = 0;
  Position here_;
};

void Machine::Run(const GridShape& shape, absl::FunctionRef<void()> body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shape.threads == 0 || shape.threads % kWarp != 0 || shape.shared_bytes > MaxSharedBytes() ||
      shape.cluster_blocks > kMaxClusterBlocks || shape.blocks % shape.cluster_blocks != 0) {
    Fail("a grid that no device runs", shape.blocks, shape.threads);
  }
  shape_ = shape;
  body_ = &body;
  here_.blocks = shape.blocks;
  here_.threads = shape.threads;
  lanes_.resize(shape.threads * shape.cluster_blocks);
  while (stacks_.size() < lanes_.size()) stacks_.emplace_back();
  std::vector<uint32_t> clusters(shape.blocks / shape.cluster_blocks);
  Shuffle(clusters);
  for (const uint32_t cluster : clusters) {
    StartCluster(cluster * shape.cluster_blocks);
    RunCluster();
  }
}

// The numbers from 0 on in random order.
void Machine::Shuffle(std::vector<uint32_t>& order) {
  for (uint32_t i = 0; i < order.size(); ++i) {
    const auto other = static_cast<uint32_t>(random_.Below(i + 1));
    order[i] = order[other];
    order[other] = i;
  }
}

void Machine::StartCluster(uint32_t first_block) {
  first_block_ = first_block;
  for (uint32_t rank = 0; rank < shape_.cluster_blocks; ++rank) {
    shared_[rank].resize((shape_.shared_bytes + 7) / 8 * 8 + 16);
    for (size_t at = 0; at + 8 <= shared_[rank].size(); at += 8) {
      const uint64_t word = random_.Next();
      std::memcpy(shared_[rank].data() + at, &word, 8);
    }
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i] = {.stack_pointer = stacks_[i].Prepare(&Machine::EnterLane)};
  }
}

void Machine::EnterLane() {
  Machine& machine = Get();
  (*machine.body_)();
  machine.Wait(State::kDone);
  Fail("a thread went on after its end", machine.here_.block, machine.here_.thread);
}

void Machine::RunCluster() {
  std::vector<uint32_t> warps(lanes_.size() / kWarp);
  for (;;) {
    bool progress = false;
    Shuffle(warps);
    for (const uint32_t warp : warps) {
      // Mostly a few steps; now and then up to the next barrier.
      int64_t turns = random_.OneIn(4) ? 1000000 : random_.Between(1, 3);
      while (turns-- > 0 && RunWarp(warp)) progress = true;
    }
    for (uint32_t rank = 0; rank < shape_.cluster_blocks; ++rank) {
      progress = PassBlockBarrier(rank) || progress;
    }
    progress = PassClusterBarrier() || progress;
    if (progress) continue;
    if (CountState(0, lanes_.size(), State::kDone) == lanes_.size()) return;
    Fail("threads wait for each other", first_block_, 0);
  }
}

bool Machine::RunWarp(uint32_t warp) {
  const bool ran = RunReadyLanes(warp);
  return ExchangeIfComplete(warp) || ran;
}

bool Machine::RunReadyLanes(uint32_t warp) {
  bool ran = false;
  for (uint32_t i = warp * kWarp; i < (warp + 1) * kWarp; ++i) {
    if (lanes_[i].state != State::kReady) continue;
    ran = true;
    running_ = i;
    rank_ = i / shape_.threads;
    here_.thread = i % shape_.threads;
    here_.block = first_block_ + rank_;
    WinnowSwitchFiber(&scheduler_, lanes_[i].stack_pointer);
  }
  return ran;
}

uint64_t ResultOf(const Lane* lanes, uint32_t lane) {
  const auto value_of = [&](uint32_t source) {
    return lanes[source < kWarp ? source : lane].value;
  };
  uint32_t low = ~0u;
  uint32_t high = 0;
  uint32_t sum = 0;
  uint32_t ballot = 0;
  for (uint32_t i = 0; i < kWarp; ++i) {
    const auto value = static_cast<uint32_t>(lanes[i].value);
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    ballot |= lanes[i].value != 0 ? 1u << i : 0u;
  }
  switch (lanes[lane].operation) {
    case WarpOperation::kShuffle:
      return value_of(lanes[lane].argument % kWarp);
    case WarpOperation::kShuffleUp:
      return value_of(lane - lanes[lane].argument);
    case WarpOperation::kShuffleXor:
      return value_of(lane ^ lanes[lane].argument);
    case WarpOperation::kBallot:
      return ballot;
    case WarpOperation::kMin:
      return low;
    case WarpOperation::kMax:
      return high;
    case WarpOperation::kAdd:
      return sum;
  }
  return 0;
}

bool Machine::ExchangeIfComplete(uint32_t warp) {
  Lane* const lanes = &lanes_[warp * kWarp];
  const uint32_t waiting = CountState(warp * kWarp, kWarp, State::kInWarp);
  if (waiting == 0) return false;
  const uint32_t thread = warp * kWarp % shape_.threads;
  if (waiting != kWarp) Fail("lanes of a warp wait for different things", here_.block, thread);
  for (uint32_t i = 1; i < kWarp; ++i) {
    if (lanes[i].operation != lanes[0].operation) {
      Fail("lanes of a warp exchange in different ways", here_.block, thread);
    }
  }
  for (uint32_t i = 0; i < kWarp; ++i) lanes[i].result = ResultOf(lanes, i);
  for (uint32_t i = 0; i < kWarp; ++i) lanes[i].state = State::kReady;
  return true;
}

uint32_t Machine::CountState(uint32_t first, uint32_t count, State state) const {
  return static_cast<uint32_t>(
      std::count_if(lanes_.begin() + first, lanes_.begin() + first + count,
                    [&](const Lane& lane) { return lane.state == state; }));
}

bool Machine::PassBlockBarrier(uint32_t rank) {
  const uint32_t first = rank * shape_.threads;
  const uint32_t waiting = CountState(first, shape_.threads, State::kAtBlock);
  if (waiting == 0) return false;
  const uint32_t done = CountState(first, shape_.threads, State::kDone);
  if (waiting + done < shape_.threads) return false;
  if (done > 0) Fail("a barrier after some threads have ended", first_block_ + rank, 0);
  uint64_t agreed = 0;
  for (uint32_t i = first; i < first + shape_.threads; ++i) agreed += lanes_[i].predicate ? 1 : 0;
  for (uint32_t i = first; i < first + shape_.threads; ++i) {
    lanes_[i].result = agreed;
    lanes_[i].state = State::kReady;
  }
  return true;
}

bool Machine::PassClusterBarrier() {
  const auto all = static_cast<uint32_t>(lanes_.size());
  const uint32_t waiting = CountState(0, all, State::kAtCluster);
  if (waiting == 0) return false;
  const uint32_t done = CountState(0, all, State::kDone);
  if (waiting + done < all) return false;
  if (done > 0) Fail("a cluster's barrier after some threads have ended", first_block_, 0);
  for (Lane& lane : lanes_) lane.state = State::kReady;
  return true;
}

// Shared memory starts at a multiple of 16 bytes.
std::byte* Align16(std::byte* address) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(address) + 15) & ~uintptr_t{15});
}

}  // namespace

void RunGrid(const GridShape& shape, absl::FunctionRef<void()> body) {
  if (shape.blocks > 0) Machine::Get().Run(shape, body);
}

const Position& Here() { return Machine::Get().here(); }

uint64_t ExchangeInWarp(WarpOperation operation, uint64_t value, uint32_t argument) {
  Lane& lane = Machine::Get().running();
  lane.operation = operation;
  lane.value = value;
  lane.argument = argument;
  return Machine::Get().Wait(State::kInWarp);
}

uint32_t WaitForBlock(bool predicate) {
  Machine::Get().running().predicate = predicate;
  return static_cast<uint32_t>(Machine::Get().Wait(State::kAtBlock));
}

void WaitForCluster() { Machine::Get().Wait(State::kAtCluster); }

size_t MaxSharedBytes() {
  static const size_t bytes = [] {
    const char* const chosen = std::getenv("WINNOW_SIMT_SHARED_BYTES");
    return chosen == nullptr ? size_t{227} * 1024 : std::strtoull(chosen, nullptr, 10);
  }();
  return bytes;
}

std::byte* SharedMemory() {
  Machine& machine = Machine::Get();
  return Align16(machine.shared(machine.rank()));
}

std::byte* SharedMemoryOf(uint32_t rank, const void* local) {
  return Align16(Machine::Get().shared(rank)) +
         (static_cast<const std::byte*>(local) - SharedMemory());
}

}  // namespace winnow::simt
