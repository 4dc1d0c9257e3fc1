#include "client/loadgen/workload.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

absl::Status BadPart(absl::string_view part, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", part, "\" of the mix: ", why,
                                                 "; write topk:ROWSxCOLUMNS:K or "
                                                 "amax:ROWSxCOLUMNS:BLOCK, and *WEIGHT after it"));
}

absl::StatusOr<Shape> ParseShape(absl::string_view part) {
  const std::pair<absl::string_view, absl::string_view> weighted =
      absl::StrSplit(part, absl::MaxSplits('*', 1));
  Shape shape;
  if (!weighted.second.empty() &&
      (!absl::SimpleAtod(weighted.second, &shape.weight) || !(shape.weight > 0))) {
    return BadPart(part, "the weight is no positive number");
  }
  const std::vector<absl::string_view> words = absl::StrSplit(weighted.first, ':');
  if (words.size() != 3) return BadPart(part, "it has not three parts");
  if (words[0] != "topk" && words[0] != "amax") return BadPart(part, "the operation is unknown");
  shape.operation = words[0] == "topk" ? Operation::kTopK : Operation::kBlockAmax;
  const std::vector<absl::string_view> sizes = absl::StrSplit(words[1], 'x');
  if (sizes.size() != 2 || !absl::SimpleAtoi(sizes[0], &shape.rows) ||
      !absl::SimpleAtoi(sizes[1], &shape.columns) || !absl::SimpleAtoi(words[2], &shape.k) ||
      shape.rows < 1 || shape.columns < 1 || shape.k < 1) {
    return BadPart(part, "a size is no positive number");
  }
  return shape;
}

float Value(Pattern pattern, std::mt19937_64& random) {
  const auto bits = random();
  switch (pattern) {
    case Pattern::kUniform:
      return static_cast<float>(bits >> 40) / static_cast<float>(1 << 23) - 1.0F;
    case Pattern::kTies:
      return static_cast<float>(bits % 16);
    case Pattern::kAllEqual:
      return 1.0F;
    case Pattern::kSpecial:
      break;
  }
  constexpr float kValues[] = {kInfinity, -kInfinity, 0.0F, -0.0F, 1e-40F, -1e38F};
  return bits % 4 != 0 ? static_cast<float>(bits % 1000) : kValues[(bits >> 32) % 6];
}

Sample MakeSample(const Shape& shape, Pattern pattern, std::mt19937_64& random) {
  Sample sample{.shape = shape};
  sample.scores.resize(static_cast<size_t>(shape.rows) * shape.columns);
  for (float& score : sample.scores) score = Value(pattern, random);
  for (int32_t row = 0; row < shape.rows; ++row) {
    // Mostly long rows, as in a decode step, and now and then a short or an empty one.
    const bool is_short = random() % 8 == 0;
    const int32_t longest = is_short ? std::min(shape.columns, 2 * shape.k) : shape.columns;
    const int32_t shortest = is_short ? 0 : shape.columns / 2;
    sample.lengths.push_back(shortest + static_cast<int32_t>(random() % (longest - shortest + 1)));
  }
  return sample;
}

absl::Status Wrong(int64_t row, absl::string_view what) {
  return absl::InternalError(absl::StrCat("wrong result in row ", row, ": ", what));
}

}  // namespace

absl::StatusOr<std::vector<Shape>> ParseMix(absl::string_view text) {
  std::vector<Shape> mix;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    WINNOW_ASSIGN_OR_RETURN(Shape shape, ParseShape(part));
    mix.push_back(shape);
  }
  return mix;
}

absl::StatusOr<Pattern> ParsePattern(absl::string_view name) {
  constexpr std::pair<absl::string_view, Pattern> kNames[] = {{"uniform", Pattern::kUniform},
                                                              {"ties", Pattern::kTies},
                                                              {"equal", Pattern::kAllEqual},
                                                              {"special", Pattern::kSpecial}};
  for (const auto& [known, pattern] : kNames) {
    if (known == name) return pattern;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no pattern \"", name, "\"; take uniform, ties, equal or special"));
}

client::TopKRequest Sample::TopK() const {
  return {.scores = client::Float32Matrix(scores.data(), shape.rows, shape.columns),
          .lengths = client::Int32Column(lengths),
          .k = shape.k};
}

client::BlockAmaxRequest Sample::BlockAmax() const {
  return {.scores = client::Float32Matrix(scores.data(), shape.rows, shape.columns),
          .lengths = client::Int32Column(lengths),
          .block_size = shape.k};
}

absl::Status Sample::Check(const client::TopKResult& result) const {
  if (result.indices.rows() != shape.rows || result.indices.columns() != shape.k) {
    return Wrong(0, "the shape");
  }
  for (int32_t row = 0; row < shape.rows; ++row) {
    const float* begin = scores.data() + static_cast<int64_t>(row) * shape.columns;
    std::vector<float> expected(begin, begin + lengths[row]);
    const size_t kept = std::min<size_t>(shape.k, expected.size());
    std::sort(expected.begin(), expected.end(), std::greater<>());
    std::vector<bool> seen(shape.columns);
    std::vector<float> selected;
    for (const int32_t index : result.indices.row<int32_t>(row)) {
      if (index == -1) continue;
      if (index < 0 || index >= lengths[row]) return Wrong(row, "an index outside the row");
      if (seen[index]) return Wrong(row, "an index twice");
      seen[index] = true;
      selected.push_back(begin[index]);
    }
    if (selected.size() != kept) return Wrong(row, "the number of results");
    std::sort(selected.begin(), selected.end(), std::greater<>());
    if (!std::equal(selected.begin(), selected.end(), expected.begin())) {
      return Wrong(row, "a score that is not among the largest");
    }
  }
  return absl::OkStatus();
}

absl::Status Sample::Check(const client::BlockAmaxResult& result) const {
  if (result.keys.rows() != shape.rows) return Wrong(0, "the shape");
  for (int32_t row = 0; row < shape.rows; ++row) {
    const float* begin = scores.data() + static_cast<int64_t>(row) * shape.columns;
    const int32_t blocks = (lengths[row] + shape.k - 1) / shape.k;
    const absl::Span<const float> keys = result.keys.row<float>(row);
    if (static_cast<size_t>(blocks) > keys.size()) return Wrong(row, "too few keys");
    for (int32_t block = 0; block < blocks; ++block) {
      const int32_t first = block * shape.k;
      const int32_t last = std::min(first + shape.k, lengths[row]);
      const float largest =
          block == blocks - 1 ? kInfinity : *std::max_element(begin + first, begin + last);
      if (keys[block] != largest) return Wrong(row, "the maximum of a block");
    }
  }
  return absl::OkStatus();
}

Workload::Workload(std::vector<Shape> mix, Pattern pattern, uint64_t seed, int samples_per_shape)
    : random_(seed) {
  std::vector<double> weights;
  for (const Shape& shape : mix) {
    weights.push_back(shape.weight);
    std::vector<Sample>& samples = samples_.emplace_back();
    for (int i = 0; i < samples_per_shape; ++i) {
      samples.push_back(MakeSample(shape, pattern, random_));
    }
  }
  choice_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
}

const Sample& Workload::Next() {
  const std::vector<Sample>& samples = samples_[choice_(random_)];
  return samples[random_() % samples.size()];
}

}  // namespace winnow::stress
