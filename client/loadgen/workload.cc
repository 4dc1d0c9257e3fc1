#include "client/loadgen/workload.h"

#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

constexpr int64_t kMostScoreBytes = int64_t{4} << 30;
constexpr size_t kMatricesOfASize = 2;

// Matrices of scores by their sizes, so that the thousand requests of a trace do not hold a
// thousand of them.
class ScorePool {
 public:
  absl::StatusOr<std::shared_ptr<const Bytes>> Take(const Shape& shape, Pattern pattern,
                                                    std::mt19937_64& random) {
    auto& matrices = matrices_[{shape.rows, shape.columns, shape.dtype}];
    if (matrices.size() == kMatricesOfASize) return matrices[random() % kMatricesOfASize];
    held_bytes_ += int64_t{shape.rows} * shape.columns * SizeOf(shape.dtype);
    if (held_bytes_ > kMostScoreBytes) {
      return absl::InvalidArgumentError(absl::StrCat("the scores of the trace are more than ",
                                                     kMostScoreBytes, " bytes; split the trace"));
    }
    matrices.push_back(MakeScores(shape, pattern, random));
    return matrices.back();
  }

 private:
  std::map<std::tuple<int32_t, int32_t, DType>, std::vector<std::shared_ptr<const Bytes>>>
      matrices_;
  int64_t held_bytes_ = 0;
};

}  // namespace

absl::StatusOr<Workload> Workload::OfMix(std::vector<Shape> mix, Pattern pattern, uint64_t seed,
                                         int samples_per_shape) {
  Workload workload(seed);
  std::vector<double> weights;
  for (Shape& shape : mix) {
    weights.push_back(shape.weight);
    std::shared_ptr<const Bytes> of_file;
    if (!shape.scores_path.empty()) {
      WINNOW_ASSIGN_OR_RETURN(of_file, ReadScores(shape));
    }
    std::vector<Sample>& samples = workload.samples_.emplace_back();
    for (int i = 0; i < samples_per_shape; ++i) {
      Sample& sample = samples.emplace_back();
      sample.shape = shape;
      sample.scores = of_file != nullptr ? of_file : MakeScores(shape, pattern, workload.random_);
      sample.lengths = MakeLengths(shape, workload.random_);
      sample.pages = MakePages(shape, workload.random_);
    }
  }
  workload.choice_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
  return workload;
}

absl::StatusOr<Workload> Workload::OfTrace(const Trace& trace, Pattern pattern, uint64_t seed) {
  Workload workload(seed);
  std::vector<Sample>& samples = workload.samples_.emplace_back();
  ScorePool pool;
  std::map<std::tuple<Operation, int32_t, int32_t, int32_t>,
           std::shared_ptr<const std::vector<int32_t>>>
      pages;
  for (const TraceEntry& entry : trace.entries) {
    const Shape& shape = entry.shape;
    Sample& sample = samples.emplace_back();
    sample.shape = shape;
    sample.lengths = entry.lengths;
    WINNOW_ASSIGN_OR_RETURN(sample.scores, pool.Take(shape, pattern, workload.random_));
    const int32_t kind = shape.operation == Operation::kConsume ? shape.k_blocks : shape.page_size;
    auto& shared = pages[{shape.operation, shape.rows, shape.columns, kind}];
    if (shared == nullptr) shared = MakePages(shape, workload.random_);
    sample.pages = shared;
    workload.arrivals_.push_back(entry.at);
  }
  workload.period_ = trace.period;
  return workload;
}

const Sample& Workload::Next() {
  if (!arrivals_.empty()) return samples_[0][next_++ % samples_[0].size()];
  const std::vector<Sample>& samples = samples_[choice_(random_)];
  return samples[random_() % samples.size()];
}

}  // namespace winnow::stress
