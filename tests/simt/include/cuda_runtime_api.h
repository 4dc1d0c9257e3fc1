// See cuda_runtime.h beside it.

#ifndef WINNOW_TESTS_SIMT_INCLUDE_CUDA_RUNTIME_API_H_
#define WINNOW_TESTS_SIMT_INCLUDE_CUDA_RUNTIME_API_H_

#include "tests/simt/include/cuda_runtime.h"

#endif  // WINNOW_TESTS_SIMT_INCLUDE_CUDA_RUNTIME_API_H_
