#include "tests/testing/work_items.h"

namespace winnow::server {

WorkItem MakeTopKItem(int64_t rows, int64_t columns, int32_t k) {
  auto arena = std::make_shared<HostArena>();
  std::vector<float> scores(rows * columns);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * 37 % 101);
  TopKStep step;
  step.params.k = k;
  step.scores = arena->Add(DType::kFloat32, rows, columns, scores);
  step.lengths = arena->AddVector(std::vector<int32_t>(rows, static_cast<int32_t>(columns)));
  step.indices = Inline();
  WorkItem item;
  item.steps.emplace_back(step);
  item.keep_alive = std::move(arena);
  return item;
}

}  // namespace winnow::server
