// What a run sends: requests of a mix of operations and shapes, made from a seed, and the check of
// their results. Next: load_run.h.

#ifndef WINNOW_CLIENT_LOADGEN_WORKLOAD_H_
#define WINNOW_CLIENT_LOADGEN_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "winnow/client/client.h"

namespace winnow::stress {

enum class Operation { kTopK, kBlockAmax };

// One kind of request and how often it comes.
struct Shape {
  Operation operation = Operation::kTopK;
  int32_t rows = 1;
  int32_t columns = 8192;
  int32_t k = 512;  // of top-k; of block maxima the block size
  double weight = 1;
};

// "topk:1x8192:512*3,amax:8x65536:8": operation, rows x columns, k or block size, weight after an
// asterisk (1 when left out). InvalidArgument says what is wrong with which part.
absl::StatusOr<std::vector<Shape>> ParseMix(absl::string_view text);

// How scores are filled; names are those of the flag.
enum class Pattern { kUniform, kTies, kAllEqual, kSpecial };
absl::StatusOr<Pattern> ParsePattern(absl::string_view name);

// A request with the data that it is checked against. Not changed once it is made.
struct Sample {
  Shape shape;
  std::vector<float> scores;  // rows * columns
  std::vector<int32_t> lengths;

  client::TopKRequest TopK() const;
  client::BlockAmaxRequest BlockAmax() const;
  // Whether the result is exact: Internal says what differs. Rows are checked by their definition,
  // on this machine, with no code shared with the server.
  absl::Status Check(const client::TopKResult& result) const;
  absl::Status Check(const client::BlockAmaxResult& result) const;
};

// Samples of the mix in random order. Thread safety: Next from one thread.
class Workload {
 public:
  // Makes `samples_per_shape` samples of each shape at once, so that sending costs no time of its
  // own.
  Workload(std::vector<Shape> mix, Pattern pattern, uint64_t seed, int samples_per_shape = 8);

  const Sample& Next();

 private:
  std::mt19937_64 random_;
  std::discrete_distribution<size_t> choice_;
  std::vector<std::vector<Sample>> samples_;
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_WORKLOAD_H_
