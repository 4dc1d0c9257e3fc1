// The publish chain as one operation.

#include <algorithm>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

PublishRequest PatternPublish(testing::Pattern pattern, const std::vector<int32_t>& lengths,
                              int32_t page_size, testing::Random& random) {
  PublishRequest request;
  int32_t longest = 1;
  for (const int32_t length : lengths) {
    request.windows.push_back(MakeScores(pattern, length, random));
    longest = std::max(longest, length);
  }
  request.pages = RandomPageTable(static_cast<int32_t>(lengths.size()), longest, page_size, random);
  return request;
}

TEST_P(ContractTest, PublishIsRightAtEveryBoundary) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const bool deterministic : {false, true}) {
      const auto request = PatternPublish(
          testing::Pattern::kNormal,
          {0, 1, 8, 9, 511, 512, 513, 4096, 16383, 16384, 16385, 30000, 40000}, 64, random());
      ExpectPublish({.dtype = dtype, .deterministic = deterministic}, {request});
    }
  }
}

TEST_P(ContractTest, PublishOfEveryPatternIsRight) {
  for (const testing::Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    for (const bool deterministic : {false, true}) {
      ExpectPublish({.k = 512, .k_blocks = 512, .deterministic = deterministic},
                    {PatternPublish(pattern, {300, 6000, 20000}, 64, random())});
    }
  }
}

// Winners side by side: a block has up to eight of them, most blocks have none.
std::vector<float> ClusteredScores(int32_t length, int32_t levels, testing::Random& random) {
  std::vector<float> scores(length);
  float level = 0;
  for (int32_t i = 0; i < length; ++i) {
    if (i % 8 == 0) level = static_cast<float>(random.Below(levels));
    scores[i] = level + static_cast<float>(random.Below(1 + levels / 100));
  }
  return scores;
}

TEST_P(ContractTest, PublishOfWinnersSideBySideIsRight) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const bool deterministic : {false, true}) {
      for (const int32_t levels : {4, 100'000}) {
        for (const int32_t k : {512, 2048}) {
          auto request = PatternPublish(testing::Pattern::kNormal, {45000, 35000}, 64, random());
          for (auto& window : request.windows) {
            window = ClusteredScores(static_cast<int32_t>(window.size()), levels, random());
          }
          ExpectPublish({.dtype = dtype, .k = k, .deterministic = deterministic}, {request});
        }
      }
    }
  }
}

// Fewer scores than are wanted stand out, each in a block of others that are equal to most.
std::vector<float> MostlyOneScore(int32_t length, float most, testing::Random& random) {
  std::vector<float> scores(length, most);
  for (float& score : scores) {
    if (random.OneIn(150)) score = static_cast<float>(random.Between(-50, 50));
  }
  return scores;
}

TEST_P(ContractTest, PublishOfRowsThatAreMostlyOneScoreIsRight) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const bool deterministic : {false, true}) {
      for (const float most : {1.0f, -1.0f}) {
        auto request = PatternPublish(testing::Pattern::kNormal, {45000, 60000}, 64, random());
        for (auto& window : request.windows) {
          window = MostlyOneScore(static_cast<int32_t>(window.size()), most, random());
        }
        ExpectPublish({.dtype = dtype, .deterministic = deterministic}, {request});
      }
    }
  }
}

// More block maxima than a block of threads holds, beside rows that have few.
TEST_P(ContractTest, PublishOfMoreBlocksThanFitRegistersIsRight) {
  using testing::Pattern;
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const bool deterministic : {false, true}) {
      for (const int32_t k : {300, 2048}) {
        auto request =
            PatternPublish(Pattern::kNormal,
                           {150000, 132000, 133001, 140000, 30000, 70000, 9000, 4}, 64, random());
        request.windows[1] = ClusteredScores(132000, 100'000, random());
        request.windows[2] = MostlyOneScore(133001, 1.0f, random());
        request.windows[3] = ClusteredScores(140000, 4, random());
        ExpectPublish({.dtype = dtype, .k = k, .deterministic = deterministic}, {request});
      }
    }
  }
  for (const Pattern pattern : {Pattern::kAllEqual, Pattern::kRelu, Pattern::kNanMany}) {
    ExpectPublish({.deterministic = true}, {PatternPublish(pattern, {140001}, 64, random())});
  }
}

TEST_P(ContractTest, PublishOfRowsAtAnyAddressIsRight) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (int64_t misaligned = 0; misaligned < 8; ++misaligned) {
      auto request = PatternPublish(testing::Pattern::kNormal, {20000, 9001}, 64, random());
      request.misaligned_elements = misaligned;
      request.stride_padding = random().Below(9);
      ExpectPublish({.dtype = dtype, .k = 300, .k_blocks = 700, .deterministic = true}, {request});
    }
  }
}

TEST_P(ContractTest, PublishTakesEveryWidthBlockSizeAndPageSize) {
  for (const int32_t block_size : {2, 8, 32, 128}) {
    for (const int32_t page_size : {128, 256}) {
      for (const int32_t k_blocks : {1, 16, 300, 2048}) {
        ExpectPublish(
            {.k = 128, .k_blocks = k_blocks, .block_size = block_size},
            {PatternPublish(testing::Pattern::kNormal, {100, 9000, 5001}, page_size, random())});
      }
    }
  }
}

TEST_P(ContractTest, PublishWritesOnlyTheOutputsAskedFor) {
  for (int32_t wanted = 1; wanted < 32; ++wanted) {
    auto request = PatternPublish(testing::Pattern::kNormal, {700, 20000}, 64, random());
    request.wants_indices = (wanted & 1) != 0;
    request.wants_slots = (wanted & 2) != 0;
    request.wants_blocks = (wanted & 4) != 0;
    request.wants_block_slots = (wanted & 8) != 0;
    request.wants_candidate_lengths = (wanted & 16) != 0;
    request.output_padding = 1;
    ExpectPublish({.deterministic = true}, {request});
  }
}

TEST_P(ContractTest, PublishTakesEveryOrderOfTokens) {
  for (const Order order : {Order::kAny, Order::kPosition, Order::kScore}) {
    for (const bool deterministic : {false, true}) {
      ExpectPublish({.order = order, .deterministic = deterministic},
                    {PatternPublish(testing::Pattern::kRelu, {700, 20000, 400}, 64, random())});
    }
  }
}

TEST_P(ContractTest, PublishOfLongAndManyRowsIsRight) {
  const auto longest = static_cast<int32_t>(std::min<int64_t>(MaxLength(), 262144));
  ExpectPublish({.deterministic = true},
                {PatternPublish(testing::Pattern::kNormal, {longest, 5}, 64, random())});
  std::vector<int32_t> lengths(70);
  for (int32_t& length : lengths) length = static_cast<int32_t>(random().Below(20000));
  ExpectPublish({}, {PatternPublish(testing::Pattern::kNormal, lengths, 64, random()),
                     PatternPublish(testing::Pattern::kNormal, {9000}, 128, random())});
}

TEST_P(ContractTest, PublishCountsNegativeRowsOnce) {
  auto request = PatternPublish(testing::Pattern::kNormal, {0, 9000, 0}, 64, random());
  request.lengths = {-1, 9000, -4};
  ExpectPublish({.deterministic = true}, {request});
}

TEST_P(ContractTest, PublishReportsBadRowsAndHarmsNoOther) {
  const auto good = PatternPublish(testing::Pattern::kNormal, {9000, 20000, 700}, 64, random());
  auto bad = good;
  bad.lengths = {9000, 20001, 700};
  ExpectPublish({.deterministic = true}, {good, bad, good});
  bad = good;
  bad.pages.table_rows = {0, 1, 3};
  ExpectPublish({.deterministic = true}, {bad, good});
  bad = good;
  bad.pages.columns -= 1;
  for (int32_t row = 2; row >= 0; --row) {
    bad.pages.entries.erase(bad.pages.entries.begin() + (row + 1) * good.pages.columns - 1);
  }
  ExpectPublish({.deterministic = true}, {bad});
  bad = good;
  for (int32_t& page : bad.pages.entries) page = -1;
  ExpectPublish({.deterministic = true}, {good, bad});
}

}  // namespace
}  // namespace winnow::contract
