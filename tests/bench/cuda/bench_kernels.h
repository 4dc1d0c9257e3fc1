// Kernels that the benchmark needs around the operations: they fill and flush memory, write scores
// as a model would, and measure the floor. Next: graph_timer.h for how anything is timed.

#ifndef WINNOW_TESTS_BENCH_CUDA_BENCH_KERNELS_H_
#define WINNOW_TESTS_BENCH_CUDA_BENCH_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "winnow/kernels/dtype.h"

namespace winnow::bench {

enum class Data { kNormal, kRelu, kNarrow, kEqual, kRamp, kText };
const char* Name(Data data);

// Fills `bytes` with scores of `dtype`, different at every place of the buffer and for every seed.
// kRamp rises over 65,536 positions and starts again.
cudaError_t FillScores(cudaStream_t stream, void* scores, int64_t bytes, DType dtype, Data data,
                       uint32_t seed);

// The same with kText: `count` scores of `text`, in memory of the device, again and again.
cudaError_t FillText(cudaStream_t stream, float* scores, int64_t bytes, const float* text,
                     int64_t count);

// Random page ids in [0, limit).
cudaError_t FillPages(cudaStream_t stream, int32_t* pages, int64_t count, int32_t limit);

// `rows` rows of `width` distinct ids below `blocks`, a power of two, in no order.
cudaError_t FillBlockIds(cudaStream_t stream, int32_t* ids, int32_t rows, int32_t width,
                         int32_t blocks);

// Reads `bytes` (a multiple of 16) so that L2 holds nothing older.
cudaError_t Flush(cudaStream_t stream, const void* buffer, int64_t bytes, int32_t* sink);

// Writes `bytes` of scores copied from `source`, 16 MiB that stay in L2: the kernel before an
// operation that just produced its input.
inline constexpr int64_t kProducerSourceBytes = 16 << 20;
cudaError_t Produce(cudaStream_t stream, void* scores, const void* source, int64_t bytes);

// The least an operation can do: reads `read_bytes` once with the widest loads and writes
// `write_bytes` behind `out`. `shape` picks one of kFloorShapes ways to spread the work; the floor
// is the best of them.
inline constexpr int kFloorShapes = 4;
cudaError_t Floor(cudaStream_t stream, int shape, bool dependent, const void* in,
                  int64_t read_bytes, void* out, int64_t write_bytes, int32_t* sink);

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_BENCH_KERNELS_H_
