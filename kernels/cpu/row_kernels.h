// The vectorised inner loops of the CPU device, compiled once for each instruction set and chosen
// when the process starts. Next: row_kernels-inl.h for the loops, select_row.cc for their use.
//
// A key is an int32 that orders as operations.md does: NaN lowest, both zeros 0.

#ifndef WINNOW_KERNELS_CPU_ROW_KERNELS_H_
#define WINNOW_KERNELS_CPU_ROW_KERNELS_H_

#include <cstdint>
#include <vector>

#include "winnow/kernels/dtype.h"

namespace winnow::cpu {

// Vectors are stored whole, so every array that a loop writes has this many elements to spare.
inline constexpr int32_t kVectorSlack = 64;
// Collect looks at so many scores at a time, and stops when as many might not fit any more.
inline constexpr int32_t kCollectChunk = 1024;

inline constexpr int32_t kNanKey = INT32_MIN;

// Positions below it fit 16 bits.
inline constexpr int32_t kMaxHalfPositions = 65536;
// Half key of minus infinity: those of NaN are less.
inline constexpr int32_t kMinusInfinityHalfKey = -0x7f80;

// Candidates of a row: ascending positions and their keys.
struct Candidates {
  int32_t* positions = nullptr;
  int32_t* keys = nullptr;
  int32_t count = 0;
  int32_t capacity = 0;  // not counting kVectorSlack
};

// The same for a bfloat16 row of at most kMaxHalfPositions scores: of a key only the upper half, as
// the lower one is 0.
struct HalfCandidates {
  uint16_t* positions = nullptr;
  int16_t* keys = nullptr;
  int32_t count = 0;
  int32_t capacity = 0;  // not counting kVectorSlack
};

struct RowKernels {
  const char* name;  // of the instruction set

  // Appends each score >= threshold of [begin, end) in ascending order, until the end or until
  // fewer than kCollectChunk more would fit. Returns where it stopped. NaN is never appended, and
  // must not be the threshold.
  int32_t (*collect)(DType dtype, const void* scores, int32_t begin, int32_t end, float threshold,
                     Candidates* candidates);

  // Keys of `count` scores that follow each other.
  void (*make_keys)(DType dtype, const void* scores, int32_t count, int32_t* keys);

  // The k-th largest of `count` keys, 1 <= k <= count. `work` and `spare` are as large as `keys`.
  int32_t (*kth_largest)(const int32_t* keys, int32_t count, int32_t k, int32_t* work,
                         int32_t* spare);

  // Leaves the k candidates with the largest keys, in ascending position; of those with key `kth`,
  // the k-th largest, the first ones.
  void (*keep_largest)(Candidates* candidates, int32_t k, int32_t kth);

  // Key of each of `blocks` whole blocks of 2^block_shift scores, as a score.
  void (*block_max)(DType dtype, const void* scores, int32_t blocks, int32_t block_shift,
                    float* keys);

  // Both null where lanes of 16 bits are not worth it.
  //
  // Half key of the score of rank `rank` among `count` bfloat16 scores, a multiple of 64 of them.
  // Overwrites the scores.
  int32_t (*half_threshold)(uint16_t* scores, int32_t count, int32_t rank) = nullptr;
  // Selects the k largest of a row of at most kMaxHalfPositions bfloat16 scores, as keep_largest
  // leaves them, among those with half keys of `low` at least, which is not that of a NaN. False,
  // and nothing selected, if these are fewer than k or might not fit `scratch`.
  bool (*select_halves)(const uint16_t* scores, int32_t length, int32_t k, int32_t low,
                        HalfCandidates* scratch, Candidates* selected) = nullptr;
};

// The fastest that this processor can run.
const RowKernels& BestRowKernels();
// All that it can run, the fastest first.
std::vector<const RowKernels*> UsableRowKernels();

// One per instruction set; defined where the compiler has it.
const RowKernels& BaselineRowKernels();
const RowKernels& Avx2RowKernels();
const RowKernels& Avx512RowKernels();
const RowKernels& Avx512Vbmi2RowKernels();

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_ROW_KERNELS_H_
