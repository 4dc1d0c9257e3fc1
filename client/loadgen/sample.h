// A request with its data, and the check of its result. Next: workload.h for which come when.

#ifndef WINNOW_CLIENT_LOADGEN_SAMPLE_H_
#define WINNOW_CLIENT_LOADGEN_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/loadgen/shape.h"
#include "winnow/client/client.h"

namespace winnow::stress {

using Bytes = std::vector<std::byte>;

// Not changed once it is made, so that callbacks may read it. Results are checked on this machine,
// with no code shared with the server's kernels: top-k and maxima by their definition, publish,
// consume and deterministic top-k number by number with the plain reference.
struct Sample {
  Shape shape;
  std::shared_ptr<const Bytes> scores;  // rows * columns of shape.dtype; shared by samples
  std::vector<int32_t> lengths;
  // Pages of each row; of consume the block slots. Shared by samples.
  std::shared_ptr<const std::vector<int32_t>> pages;

  // The scores as they lie here, which is what the requests have unless they are given others.
  client::MatrixView View() const;
  client::TopKRequest TopK(client::TensorRef scores) const;
  client::BlockAmaxRequest BlockAmax(client::TensorRef scores) const;
  client::PublishCandidatesRequest Publish(client::TensorRef scores) const;
  client::ConsumeCandidatesRequest Consume(client::TensorRef scores) const;

  // Internal says what differs, and in which row.
  absl::Status Check(const client::TopKResult& result) const;  // of top-k and of consume
  absl::Status Check(const client::BlockAmaxResult& result) const;
  absl::Status Check(const client::PublishCandidatesResult& result) const;

  int32_t pages_columns() const;
  // Row `row` as far as it is valid.
  std::vector<float> Row(int32_t row) const;
};

// Scores of rows * columns by a pattern.
std::shared_ptr<const Bytes> MakeScores(const Shape& shape, Pattern pattern,
                                        std::mt19937_64& random);
// What `shape.scores_path` names; sets the sizes and the type of the shape. InvalidArgument names
// the file.
absl::StatusOr<std::shared_ptr<const Bytes>> ReadScores(Shape& shape);
// Pages (of consume: block slots) that a request of this shape needs; null when it needs none.
std::shared_ptr<const std::vector<int32_t>> MakePages(const Shape& shape, std::mt19937_64& random);
// Mostly long rows, as in a decode step, and now and then a short or an empty one.
std::vector<int32_t> MakeLengths(const Shape& shape, std::mt19937_64& random);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_SAMPLE_H_
