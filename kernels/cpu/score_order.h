// Sorting of a selection by score.

#ifndef WINNOW_KERNELS_CPU_SCORE_ORDER_H_
#define WINNOW_KERNELS_CPU_SCORE_ORDER_H_

#include <cstdint>

namespace winnow::cpu {

// Sorts `count` <= kMaxK positions, ascending at first, by descending key; equal keys keep their
// order. `keys` is sorted along.
void SortByKey(int32_t* keys, int32_t* positions, int32_t count);

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_SCORE_ORDER_H_
