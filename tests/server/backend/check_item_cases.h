// Items for tests of CheckItem: two rows of everything, which pass until a test spoils one thing.

#ifndef WINNOW_TESTS_SERVER_BACKEND_CHECK_ITEM_CASES_H_
#define WINNOW_TESTS_SERVER_BACKEND_CHECK_ITEM_CASES_H_

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "server/backend/work_key.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

// Two rows of everything.
struct Inputs {
  HostArena arena;
  std::vector<int32_t> device = std::vector<int32_t>(4096);

  TensorRef scores = arena.Add(DType::kFloat32, 2, 64, std::vector<float>(128, 1.5f));
  TensorRef lengths = arena.AddVector({64, 10});
  PageTableRef pages{.table = arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>(8, 3)),
                     .page_size = 16,
                     .pool_pages = 10};

  TopKStep TopK() {
    TopKStep step;
    step.params.k = 8;
    step.scores = scores;
    step.lengths = lengths;
    step.pages = pages;
    step.slots = Inline();
    step.indices = Inline();
    return step;
  }
  BlockAmaxStep Amax() {
    BlockAmaxStep step;
    step.scores = scores;
    step.lengths = lengths;
    step.key_columns = 8;
    step.keys = Inline();
    return step;
  }
  SortBlocksStep Sort() {
    SortBlocksStep step;
    step.params.width = 4;
    step.blocks = arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{7, -1, 3, 3, 0, 1, -1, -1});
    step.lengths = lengths;
    step.pages = pages;
    step.blocks_out = Inline();
    step.block_slots = Inline();
    return step;
  }
  PublishStep Publish() {
    PublishStep step;
    step.params.k = 8;
    step.params.k_blocks = 4;
    step.scores = scores;
    step.lengths = lengths;
    step.pages = pages;
    step.slots = Inline();
    step.block_slots = Inline();
    return step;
  }
};

inline absl::Status Check(std::vector<Step> steps) {
  WorkItem item;
  item.steps = std::move(steps);
  return CheckItem(item);
}

template <typename StepT>
struct BadCase {
  const char* what;
  ErrorReason reason;
  const char* field;
  std::function<void(StepT&, Inputs&)> spoil;
};

template <typename StepT, typename Make>
void ExpectRefused(Make make, const std::vector<BadCase<StepT>>& cases) {
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.what);
    Inputs inputs;
    StepT step = (inputs.*make)();
    ASSERT_OK(Check({step}));
    bad.spoil(step, inputs);
    EXPECT_THAT(Check({step}), winnow::testing::FailsWith(bad.reason, bad.field));
  }
}

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_BACKEND_CHECK_ITEM_CASES_H_
