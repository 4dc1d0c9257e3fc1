// Row lengths around every boundary that a selection may have.

#include <algorithm>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

constexpr int32_t kSelections[] = {1, 7, 512, 1024, 2048};

// 0, 1, k and its neighbours, the boundaries of operations.md section 8 and theirs.
std::vector<int32_t> BoundaryLengths(int32_t k, int64_t max_length) {
  std::vector<int32_t> lengths = {0, 1, std::max(k - 1, 0), k, k + 1, k + 2, 2 * k};
  for (const int32_t boundary : {4096, 8192, 16384, 24576, 30720, 32768, 65536, 131072}) {
    for (const int32_t by : {-1, 0, 1}) lengths.push_back(boundary + by);
  }
  lengths.push_back(1048576);
  lengths.erase(std::remove_if(lengths.begin(), lengths.end(),
                               [&](int32_t length) { return length > max_length; }),
                lengths.end());
  return lengths;
}

TEST_P(ContractTest, EveryBoundaryLengthIsRightAlone) {
  for (const int32_t k : kSelections) {
    for (const int32_t length : BoundaryLengths(k, MaxLength())) {
      SCOPED_TRACE(length);
      ExpectTopK({.k = k}, {NormalRequest({length}, random())});
    }
  }
}

TEST_P(ContractTest, EveryBoundaryLengthIsRightInOneLaunch) {
  for (const int32_t k : kSelections) {
    TopKRequest request;
    // Rows of one matrix are as wide as the longest; the longest one goes into its own request.
    for (const int32_t length : BoundaryLengths(k, std::min<int64_t>(MaxLength(), 140000))) {
      request.windows.push_back(MakeScores(testing::Pattern::kNormal, length, random()));
    }
    for (const bool deterministic : {false, true}) {
      ExpectTopK({.k = k, .deterministic = deterministic}, {request});
    }
  }
}

TEST_P(ContractTest, ShortRowsOfEveryLengthAreRight) {
  TopKRequest request;
  for (int32_t length = 0; length <= 300; ++length) {
    request.windows.push_back(MakeScores(testing::Pattern::kNormal, length, random()));
  }
  for (const int32_t k : {1, 2, 31, 32, 33, 64, 255}) ExpectTopK({.k = k}, {request});
}

TEST_P(ContractTest, TheLongestRowIsRight) {
  if (MaxLength() < kMaxColumns) GTEST_SKIP() << "left out at this scale";
  for (const int32_t k : {7, 2048}) {
    ExpectTopK({.k = k}, {NormalRequest({kMaxColumns}, random())});
    ExpectTopK({.k = k, .deterministic = true}, {NormalRequest({kMaxColumns - 1}, random())});
  }
}

TEST_P(ContractTest, NegativeLengthsAreEmptyRowsAndAreCounted) {
  TopKRequest request = NormalRequest({5000, 0, 0, 9000, 0, 3}, random());
  request.lengths = {5000, -1, -4, 9000, INT32_MIN, 3};
  request.wants_values = true;
  ExpectTopKInAllModes(DType::kFloat32, 512, request);
}

TEST_P(ContractTest, ARowUsesOnlyItsLengthOfAWideMatrix) {
  TopKRequest request = NormalRequest({100, 3000, 8191, 1, 700}, random());
  request.columns = 40000;
  request.stride_padding = 3;
  request.wants_values = true;
  ExpectTopKInAllModes(DType::kFloat32, 512, request);
}

TEST_P(ContractTest, AMaxLengthHintNeverChangesAResult) {
  TopKRequest request = NormalRequest({100, 3000, 20000, 1, 700, 65000}, random());
  for (const int32_t hint : {1, 500, 4096, 65000, 1 << 21}) {
    request.max_length = hint;
    ExpectTopK({.k = 512, .deterministic = true}, {request});
  }
}

}  // namespace
}  // namespace winnow::contract
