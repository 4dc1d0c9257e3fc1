// How long a thread computes before the kernel looks who else wants its core.

#ifndef WINNOW_KERNELS_TIME_SLICE_H_
#define WINNOW_KERNELS_TIME_SLICE_H_

namespace winnow {

// Asks for long time slices for the calling thread, from now on, and for threads that it starts:
// for threads that compute for milliseconds. Linux from 6.12 on lets a thread that wakes go before
// one whose slice is longer. Each keeps its share of the processors, but who has little to do, a
// client that gets its answer say, does not wait for the end of a slice.
//
// False, and nothing changes, where the kernel knows no slices or refuses, and for a thread that
// has another policy than the default one. Thread safety: safe to call from several threads.
bool AskForLongTimeSlices();

}  // namespace winnow

#endif  // WINNOW_KERNELS_TIME_SLICE_H_
