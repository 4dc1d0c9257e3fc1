#include "client/loadgen/shape.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "winnow/kernels/plain_number.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

absl::Status BadPart(absl::string_view part, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", part, "\" of the mix: ", why,
                   "; write topk:ROWSxCOLUMNS:K or amax:ROWSxCOLUMNS:BLOCK, or a file of scores "
                   "(.npy) in place of ROWSxCOLUMNS, and *WEIGHT after it"));
}

absl::Status ParseData(absl::string_view part, absl::string_view data, Shape& shape) {
  if (absl::EndsWith(data, ".npy")) {
    shape.scores_path = std::string(data);
    shape.rows = shape.columns = 0;
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> sizes = absl::StrSplit(data, 'x');
  if (sizes.size() != 2 || !ParsePlainNumber(sizes[0], shape.rows) ||
      !ParsePlainNumber(sizes[1], shape.columns) || shape.rows < 1 || shape.columns < 1) {
    return BadPart(part, "a size is no positive number");
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> ParseShape(absl::string_view part) {
  const std::pair<absl::string_view, absl::string_view> weighted =
      absl::StrSplit(part, absl::MaxSplits('*', 1));
  Shape shape;
  if (absl::StrContains(part, '*') &&
      (!ParsePlainDecimal(weighted.second, shape.weight) || shape.weight <= 0)) {
    return BadPart(part, "the weight is no positive number");
  }
  const std::vector<absl::string_view> words = absl::StrSplit(weighted.first, ':');
  if (words.size() != 3) return BadPart(part, "it has not three parts");
  if (words[0] != "topk" && words[0] != "amax") return BadPart(part, "the operation is unknown");
  shape.operation = words[0] == "topk" ? Operation::kTopK : Operation::kBlockAmax;
  WINNOW_RETURN_IF_ERROR(ParseData(part, words[1], shape));
  int32_t& last = shape.operation == Operation::kTopK ? shape.k : shape.block_size;
  if (!ParsePlainNumber(words[2], last) || last < 1) {
    return BadPart(part, "a size is no positive number");
  }
  return shape;
}

}  // namespace

absl::StatusOr<std::vector<Shape>> ParseMix(absl::string_view text) {
  std::vector<Shape> mix;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    WINNOW_ASSIGN_OR_RETURN(Shape shape, ParseShape(part));
    mix.push_back(std::move(shape));
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

}  // namespace winnow::stress
