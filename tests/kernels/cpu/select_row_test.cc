// The ways through a row's selection that random rows seldom take.

#include "kernels/cpu/select_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cpu/row_rules.h"
#include "tests/testing/random.h"
#include "tests/testing/score_generators.h"

namespace winnow::cpu {
namespace {

using Positions = std::vector<int32_t>;

Positions Expected(const std::vector<float>& scores, int32_t k) {
  Positions order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int32_t a, int32_t b) {
    if (RanksAbove(scores[a], scores[b])) return true;
    return !RanksAbove(scores[b], scores[a]) && a < b;
  };
  std::nth_element(order.begin(), order.begin() + k, order.end(), better);
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

class SelectRowTest : public ::testing::TestWithParam<const RowKernels*> {
 protected:
  // Of the scores, and of the scores rounded to bfloat16.
  void ExpectSelected(const std::vector<float>& scores, int32_t k) {
    const auto length = static_cast<int32_t>(scores.size());
    ExpectSelected({DType::kFloat32, scores.data(), length}, scores, k);
    std::vector<uint16_t> halves;
    std::vector<float> rounded;
    for (const float score : scores) {
      halves.push_back(testing::ToBfloat16(score));
      rounded.push_back(Bfloat16ToFloat(halves.back()));
    }
    ExpectSelected({DType::kBfloat16, halves.data(), length}, rounded, k);
  }

  void ExpectSelected(const ScoreRow& row, const std::vector<float>& scores, int32_t k) {
    SCOPED_TRACE(Name(row.dtype));
    const Positions expected = Expected(scores, k);
    const auto alone = selector_->Select(row, k);
    EXPECT_EQ(Positions(alone.begin(), alone.end()), expected) << "k " << k;
    const auto by_score = selector_->SortByScore();
    for (int32_t i = 1; i < k; ++i) {
      const int32_t before = by_score[i - 1], here = by_score[i];
      ASSERT_FALSE(RanksAbove(scores[here], scores[before])) << "k " << k << " at " << i;
      if (RanksAbove(scores[before], scores[here])) continue;
      ASSERT_LT(before, here) << "k " << k << " at " << i;
    }
    const auto shared = selector_->SelectShared(row, k, pool_);
    EXPECT_EQ(Positions(shared.begin(), shared.end()), expected) << "shared, k " << k;
  }

  WorkerPool pool_{3};
  std::unique_ptr<RowSelector> selector_ = std::make_unique<RowSelector>(*GetParam());
  testing::Random random_{testing::SeedFromEnvironment("WINNOW_KERNELS_SEED")};
};

// All winners in a stretch that holds no more of the sample than any other: the sample's rank gives
// a threshold near the top of the stretch, and a second pass is needed.
TEST_P(SelectRowTest, ASampleThatMissesTheWinnersCostsASecondPassOnly) {
  for (const int32_t length : {9000, 40000, 200000}) {
    for (const int32_t k : {1, 100, 512, 2048}) {
      auto scores = MakeScores(testing::Pattern::kNormal, length, random_);
      for (int32_t i = 0; i < k; ++i) scores[length / 3 + i] += 100.0f;
      ExpectSelected(scores, k);
    }
  }
}

TEST_P(SelectRowTest, AListThatFillsUpIsShrunkAndTheThresholdRises) {
  for (const int32_t length : {30000, 100000, 300000}) {
    // Everything ties with the sample's threshold at first.
    std::vector<float> rising(length, 1.0f);
    for (int32_t i = length / 2; i < length; i += 7) rising[i] = 1.0f + static_cast<float>(i);
    ExpectSelected(rising, 512);
    ExpectSelected(rising, 2048);
  }
}

TEST_P(SelectRowTest, InfinityEndsTheSearchEarlyAndRightly) {
  std::vector<float> scores(100000, std::numeric_limits<float>::infinity());
  scores[5] = 3;
  ExpectSelected(scores, 512);
  ExpectSelected(scores, 2048);
}

TEST_P(SelectRowTest, RowsOfFewNumbersAmongNansTakeTheFirstNans) {
  for (const int32_t length : {5000, 9000, 100000}) {
    for (const int32_t numbers : {0, 1, 511, 512, 513}) {
      std::vector<float> scores(length, std::numeric_limits<float>::quiet_NaN());
      for (const int32_t i : testing::DistinctNumbers(numbers, length, random_)) {
        scores[i] = random_.OneIn(2) ? -std::numeric_limits<float>::infinity() : random_.Normal();
      }
      ExpectSelected(scores, 512);
    }
  }
}

TEST_P(SelectRowTest, MostOfARowCanBeSelected) {
  for (const int32_t length : {2049, 2100, 4097, 8191, 8192, 8193, 9000}) {
    ExpectSelected(MakeScores(testing::Pattern::kNormal, length, random_), 2048);
    ExpectSelected(MakeScores(testing::Pattern::kNanFew, length, random_), 2048);
  }
}

TEST_P(SelectRowTest, EveryPatternIsSelectedRight) {
  for (const testing::Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    for (const int32_t length : {2049, 8192, 8193, 16384, 33000, 65536, 65537, 140000}) {
      const auto scores = MakeScores(pattern, length, random_);
      for (const int32_t k : {1, 512, 2048}) ExpectSelected(scores, k);
    }
  }
}

TEST_P(SelectRowTest, ScoreOrderDescendsWithTiesByPosition) {
  const std::vector<float> scores = {1, 3, -2, 3, 0, -0.0f, 3};
  const auto all = selector_->SelectAll({DType::kFloat32, scores.data(), 7});
  EXPECT_EQ(all.size(), 7u);
  const auto sorted = selector_->SortByScore();
  EXPECT_EQ(Positions(sorted.begin(), sorted.end()), (Positions{1, 3, 6, 0, 4, 5, 2}));
}

INSTANTIATE_TEST_SUITE_P(Usable, SelectRowTest, ::testing::ValuesIn(UsableRowKernels()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace winnow::cpu
