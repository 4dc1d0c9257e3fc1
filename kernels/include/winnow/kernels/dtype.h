// Element types that scores, keys, indices and tables may have.
// Next: limits.h for the bounds of every operation, segments.h for what an operation reads and
// writes.

#ifndef WINNOW_KERNELS_DTYPE_H_
#define WINNOW_KERNELS_DTYPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace winnow {

enum class DType : int32_t {
  kUnspecified = 0,
  kFloat32 = 1,
  kBfloat16 = 2,  // stored as the upper 16 bits of the float32 of the same value
  kInt32 = 3,
};

// Bytes of one element; 0 for kUnspecified.
constexpr int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kBfloat16:
      return 2;
    case DType::kUnspecified:
      break;
  }
  return 0;
}

// "float32", "bfloat16", "int32" or "unspecified".
constexpr absl::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kBfloat16:
      return "bfloat16";
    case DType::kInt32:
      return "int32";
    case DType::kUnspecified:
      break;
  }
  return "unspecified";
}

}  // namespace winnow

#endif  // WINNOW_KERNELS_DTYPE_H_
