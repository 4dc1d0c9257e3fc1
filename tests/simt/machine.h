// Runs CUDA kernels that were compiled for the host: one fiber a thread, in an order that changes
// from run to run, so that a missing barrier shows. Next: device_functions.h, which a kernel sees.

#ifndef WINNOW_TESTS_SIMT_MACHINE_H_
#define WINNOW_TESTS_SIMT_MACHINE_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"

namespace winnow::simt {

inline constexpr uint32_t kMaxClusterBlocks = 16;
// Of a block: those of an H100, or what WINNOW_SIMT_SHARED_BYTES says.
size_t MaxSharedBytes();

struct GridShape {
  uint32_t blocks = 0;   // a multiple of cluster_blocks
  uint32_t threads = 0;  // of a block; a multiple of 32
  uint32_t cluster_blocks = 1;
  size_t shared_bytes = 0;  // dynamic, of a block; starts as random words
};

// Runs `body` once for each thread of the grid and returns when all are done. Clusters run one
// after the other in random order, the warps of a cluster in turns of random length. A kernel that
// breaks the rules ends the program with a message: lanes of a warp that wait for different things,
// a barrier that exited threads can never reach. Thread-safe: one grid runs at a time.
void RunGrid(const GridShape& shape, absl::FunctionRef<void()> body);

// The rest is called by the running thread of a grid.

struct Position {
  uint32_t thread = 0;
  uint32_t block = 0;
  uint32_t blocks = 0;
  uint32_t threads = 0;
};
const Position& Here();

enum class WarpOperation { kShuffle, kShuffleUp, kShuffleXor, kBallot, kMin, kMax, kAdd };
// Waits for all 32 lanes; kMin, kMax and kAdd are of the low 32 bits. A shuffle from outside the
// warp gives the lane's own value.
uint64_t ExchangeInWarp(WarpOperation operation, uint64_t value, uint32_t argument);

// Waits for the block; how many of its threads came with `predicate`.
uint32_t WaitForBlock(bool predicate);
void WaitForCluster();

std::byte* SharedMemory();
// Where `local`, inside SharedMemory(), lies in the block of rank `rank` of the cluster.
std::byte* SharedMemoryOf(uint32_t rank, const void* local);

}  // namespace winnow::simt

#endif  // WINNOW_TESTS_SIMT_MACHINE_H_
