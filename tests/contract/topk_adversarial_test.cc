// Rows that defeat a selection which guesses: ties by the thousand, narrow bands, special values.

#include <algorithm>
#include <limits>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

using testing::Pattern;

TopKRequest PatternRequest(Pattern pattern, const std::vector<int32_t>& lengths,
                           testing::Random& random) {
  TopKRequest request;
  for (const int32_t length : lengths) {
    request.windows.push_back(MakeScores(pattern, length, random));
  }
  return request;
}

TEST_P(ContractTest, EveryPatternIsRightInShortRows) {
  for (const Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    const auto request = PatternRequest(pattern, {1, 40, 2047, 2049, 3000, 8191, 16384}, random());
    for (const int32_t k : {1, 16, 512, 2048}) {
      for (const bool deterministic : {false, true}) {
        ExpectTopK({.k = k, .deterministic = deterministic}, {request});
      }
    }
  }
}

TEST_P(ContractTest, EveryPatternIsRightInMiddlingRows) {
  if (MaxLength() < 70000) GTEST_SKIP() << "left out at this scale";
  for (const Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    const auto request = PatternRequest(pattern, {24577, 32769, 70000}, random());
    for (const int32_t k : {7, 512, 2048}) {
      for (const bool deterministic : {false, true}) {
        ExpectTopK({.k = k, .deterministic = deterministic}, {request});
      }
    }
  }
}

TEST_P(ContractTest, EveryPatternIsRightInALongRow) {
  if (MaxLength() < 524288) GTEST_SKIP() << "left out at this scale";
  for (const Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    const auto request = PatternRequest(pattern, {524288}, random());
    ExpectTopK({.k = 512}, {request});
    ExpectTopK({.k = 2048, .deterministic = true}, {request});
  }
}

TEST_P(ContractTest, EveryPatternIsRightInAManyRowedBatch) {
  for (const Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    std::vector<int32_t> lengths(40);
    for (int32_t& length : lengths) length = static_cast<int32_t>(random().Below(9000));
    ExpectTopK({.k = 512, .order = Order::kScore}, {PatternRequest(pattern, lengths, random())});
  }
}

TEST_P(ContractTest, EqualScoresOfAnyNumberAreRight) {
  for (const int32_t length : {8320, 32768, 131072, 524288, 2097152}) {
    if (length > MaxLength()) continue;
    const auto request = PatternRequest(Pattern::kAllEqual, {length}, random());
    for (const int32_t k : {512, 2048}) {
      for (const bool deterministic : {false, true}) {
        ExpectTopK({.k = k, .deterministic = deterministic}, {request});
      }
    }
  }
}

TEST_P(ContractTest, HundredWinnersAmongZerosAreAllTaken) {
  ExpectTopKInAllModes(DType::kFloat32, 2048,
                       PatternRequest(Pattern::kFewWinners, {8320, 8220, 16000}, random()));
}

TEST_P(ContractTest, ThreeFiniteScoresAndThirteenDistinctInfiniteOnesAreTaken) {
  TopKRequest request = PatternRequest(Pattern::kFewFinite, {51, 51, 5100}, random());
  request.wants_values = true;
  ExpectTopKInAllModes(DType::kFloat32, 16, request);
}

TEST_P(ContractTest, NanIsTakenOnlyWhenNothingElseIsLeft) {
  TopKRequest request = PatternRequest(Pattern::kNanOnly, {4000, 9000, 20000}, random());
  for (auto& window : request.windows) {
    for (const int32_t i : DistinctNumbers(513, static_cast<int64_t>(window.size()), random())) {
      window[i] = random().OneIn(3) ? -std::numeric_limits<float>::infinity() : random().Normal();
    }
  }
  request.wants_values = true;
  for (const int32_t k : {511, 512, 513, 514, 2048}) {
    ExpectTopK({.k = k}, {request});
    ExpectTopK({.k = k, .order = Order::kScore, .deterministic = true}, {request});
  }
}

TEST_P(ContractTest, HighScoresAtAnySamplingStrideAreFound) {
  const auto length = static_cast<int32_t>(std::min<int64_t>(MaxLength(), 65536));
  for (int32_t stride = 2; stride <= 4096; stride *= 2) {
    for (const int32_t phase : {0, 1}) {
      TopKRequest request;
      request.windows.emplace_back(length);
      for (int32_t i = 0; i < length; ++i) {
        const bool high = i % stride == phase;
        request.windows[0][i] = (high ? 50.0f : 0.0f) + random().Normal();
      }
      ExpectTopK({.k = 512}, {request});
    }
  }
}

TEST_P(ContractTest, SortedRowsAreRightInBothDirections) {
  const auto length = static_cast<int32_t>(std::min<int64_t>(MaxLength(), 100000));
  for (const Pattern pattern : {Pattern::kNormal, Pattern::kRelu, Pattern::kNarrow}) {
    TopKRequest request = PatternRequest(pattern, {length, length}, random());
    std::sort(request.windows[0].begin(), request.windows[0].end());
    std::sort(request.windows[1].begin(), request.windows[1].end(), std::greater<float>());
    ExpectTopK({.k = 2048}, {request});
    ExpectTopK({.k = 512, .deterministic = true}, {request});
  }
}

TEST_P(ContractTest, BothZerosAreEqualAndTheLowestPositionsWin) {
  TopKRequest request = PatternRequest(Pattern::kSignedZeros, {3000, 9000, 20000}, random());
  request.wants_values = true;
  ExpectTopKInAllModes(DType::kFloat32, 2048, request);
  ExpectTopKInAllModes(DType::kBfloat16, 2048, request);
}

}  // namespace
}  // namespace winnow::contract
