#include "tests/integration/slow_request.h"

#include <cstdint>
#include <vector>

#include "tests/testing/random.h"
#include "tests/testing/requests.h"
#include "tests/testing/score_generators.h"

namespace winnow::testing {

const v1::ExecuteRequest& SlowRequest() {
  static const auto* const request = [] {
    constexpr int64_t kRows = 16;
    auto* slow = new v1::ExecuteRequest;
    Random random(1);
    auto& first = *slow->add_steps()->mutable_top_k();
    *first.mutable_scores() =
        FloatTensor(kRows, 4096, MakeScores(Pattern::kNormal, kRows * 4096, random));
    *first.mutable_lengths() = Int32Vector(std::vector<int32_t>(kRows, 4096));
    first.set_k(2048);
    first.mutable_values()->set_placement(v1::OUTPUT_PLACEMENT_KEEP);
    for (int i = 0; i < 60; ++i) {
      auto& step = *slow->add_steps()->mutable_top_k();
      *step.mutable_scores() =
          StepOutputTensor(v1::DATA_TYPE_FLOAT32, kRows, 2048, 0, v1::OUTPUT_NAME_VALUES);
      *step.mutable_lengths() = Int32Vector(std::vector<int32_t>(kRows, 2048));
      step.set_k(2047);
      step.set_order(v1::SELECTION_ORDER_SCORE);
      step.mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_KEEP);
    }
    return slow;
  }();
  return *request;
}

}  // namespace winnow::testing
