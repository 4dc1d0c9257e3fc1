// Bounds that kernels, request validation, the command line and the documents share.

#ifndef WINNOW_KERNELS_LIMITS_H_
#define WINNOW_KERNELS_LIMITS_H_

#include <cstdint>

namespace winnow {

inline constexpr int32_t kMaxK = 2048;
inline constexpr int32_t kMaxColumns = 1 << 21;   // scores in a row
inline constexpr int32_t kMaxRows = 65536;        // rows of one request
inline constexpr int32_t kMaxPageSize = 1 << 20;  // positions in a page; a power of two
inline constexpr int32_t kMinBlockSize = 2;       // positions in a candidate block; a power of two
inline constexpr int32_t kMaxBlockSize = 128;
inline constexpr int32_t kDefaultBlockSize = 8;
inline constexpr int32_t kMaxSegments = 1024;  // requests that may share one launch

// Padding of each output past a row's results.
inline constexpr int32_t kPaddingIndex = -1;          // TopK indices and slots
inline constexpr int32_t kPaddingBlock = 2147483647;  // candidate block ids and block slots

}  // namespace winnow

#endif  // WINNOW_KERNELS_LIMITS_H_
