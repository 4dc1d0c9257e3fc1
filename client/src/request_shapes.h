// Shapes of outputs that a request leaves to defaults.

#ifndef WINNOW_CLIENT_SRC_REQUEST_SHAPES_H_
#define WINNOW_CLIENT_SRC_REQUEST_SHAPES_H_

#include <cstdint>

#include "winnow/client/requests.h"
#include "winnow/kernels/limits.h"

namespace winnow::client {

// Of the chains, where a request says 0.
inline constexpr int32_t kDefaultK = 512;
inline constexpr int32_t kDefaultKBlocks = 2048;

inline int64_t KeyColumns(const BlockAmaxRequest& request) {
  if (request.key_columns != 0) return request.key_columns;
  const int64_t block_size = request.block_size > 0 ? request.block_size : kDefaultBlockSize;
  const int64_t columns = request.scores.columns();
  return columns / block_size + (columns % block_size != 0 ? 1 : 0);
}

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_REQUEST_SHAPES_H_
