// Kinds of requests and of data, and how the command line writes them. Next: sample.h.

#ifndef WINNOW_CLIENT_LOADGEN_SHAPE_H_
#define WINNOW_CLIENT_LOADGEN_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "winnow/kernels/dtype.h"

namespace winnow::stress {

enum class Operation { kTopK, kBlockAmax, kPublish, kConsume };

// One kind of request and how often it comes.
struct Shape {
  Operation operation = Operation::kTopK;
  int32_t rows = 1;
  int32_t columns = 8192;
  int32_t k = 512;         // not of block maxima
  int32_t block_size = 8;  // not of top-k
  int32_t k_blocks = 0;    // of publish and consume; consume has k_blocks * block_size columns
  int32_t page_size = 0;   // of top-k: slots come too; of publish: needed. 0: no pages
  DType dtype = DType::kFloat32;
  bool deterministic = false;  // publish and consume always are, for the reference to check them
  double weight = 1;
  std::string scores_path;  // a .npy file of [rows, columns]; empty: made by a pattern
};

// "topk:1x8192:512*3,amax:8x65536:8,topk:scores.npy:512": operation, rows x columns or a file of
// scores, k or block size, weight after an asterisk (1 when left out). The file's sizes are not
// known yet (0). InvalidArgument says what is wrong with which part.
absl::StatusOr<std::vector<Shape>> ParseMix(absl::string_view text);

// How scores are filled; names are those of the flag.
enum class Pattern { kUniform, kTies, kAllEqual, kSpecial };
absl::StatusOr<Pattern> ParsePattern(absl::string_view name);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_SHAPE_H_
