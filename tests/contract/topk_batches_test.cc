// Numbers of rows around every boundary that a launch may have, and rows of different length.

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

constexpr int32_t kBatches[] = {1, 7, 8, 15, 16, 30, 31, 64, 128, 256, 511, 512, 513};

TEST_P(ContractTest, EveryBatchSizeOfEqualLengthsIsRight) {
  for (const int32_t rows : kBatches) {
    SCOPED_TRACE(rows);
    for (const int32_t length : {3000, 9000}) {
      ExpectTopK({.k = 512}, {NormalRequest(std::vector<int32_t>(rows, length), random())});
    }
  }
}

TEST_P(ContractTest, EveryBatchSizeOfMixedLengthsIsRight) {
  for (const int32_t rows : kBatches) {
    SCOPED_TRACE(rows);
    std::vector<int32_t> lengths;
    for (int32_t row = 0; row < rows; ++row) {
      const int64_t top = random().OneIn(4) ? 20000 : 3000;
      lengths.push_back(random().OneIn(9) ? 0 : static_cast<int32_t>(random().Below(top)));
    }
    ExpectTopK({.k = 512, .deterministic = random().OneIn(2)}, {NormalRequest(lengths, random())});
  }
}

TEST_P(ContractTest, BatchesOfLongRowsAreRight) {
  if (MaxLength() < 100000) GTEST_SKIP() << "left out at this scale";
  for (const int32_t rows : {2, 8, 15, 16, 31}) {
    std::vector<int32_t> lengths(rows);
    for (int32_t& length : lengths) length = static_cast<int32_t>(random().Between(1, 100000));
    lengths[random().Below(rows)] = 100000;
    ExpectTopK({.k = 2048}, {NormalRequest(lengths, random())});
  }
}

TEST_P(ContractTest, OneLongRowAmongManyShortOnesIsRightAtEveryPlace) {
  const auto longest = static_cast<int32_t>(std::min<int64_t>(MaxLength(), 70000));
  for (const int32_t place : {0, 1, 17, 30, 31}) {
    std::vector<int32_t> lengths(32, 600);
    lengths[place] = longest;
    ExpectTopK({.k = 512}, {NormalRequest(lengths, random())});
  }
}

TEST_P(ContractTest, ManyRowsOfOneScoreAreRight) {
  const int32_t rows = scale() == Scale::kSmall ? 1000 : kMaxRows;
  ExpectTopK({.k = 1}, {NormalRequest(std::vector<int32_t>(rows, 3), random())});
}

}  // namespace
}  // namespace winnow::contract
