// bfloat16 scores: every bit pattern, every hard row, every option.

#include <algorithm>
#include <cstring>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

std::vector<float> AllBitPatterns(testing::Random& random) {
  std::vector<float> scores;
  for (const int32_t bits : DistinctNumbers(65536, 65536, random)) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float score;
    std::memcpy(&score, &wide, sizeof(score));
    scores.push_back(score);
  }
  return scores;
}

TEST_P(ContractTest, EveryBfloat16BitPatternHasItsPlace) {
  const std::vector<float> all = AllBitPatterns(random());
  TopKRequest whole;
  whole.windows = {all};
  whole.wants_values = true;
  TopKRequest pieces;
  // Pieces short enough for k to reach into the NaNs.
  for (size_t begin = 0; begin < all.size(); begin += 2100) {
    pieces.windows.emplace_back(all.begin() + begin,
                                all.begin() + std::min(begin + 2100, all.size()));
  }
  pieces.wants_values = true;
  if (MaxLength() >= 65536) ExpectTopKInAllModes(DType::kBfloat16, 2048, whole);
  ExpectTopKInAllModes(DType::kBfloat16, 2048, pieces);
  ExpectTopKInAllModes(DType::kBfloat16, 512, pieces);
}

TEST_P(ContractTest, EveryPatternIsRightInBfloat16) {
  for (const testing::Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    TopKRequest request;
    for (const int32_t length : {1, 600, 2049, 8191, 16384, 16385, 40000}) {
      if (length <= MaxLength()) request.windows.push_back(MakeScores(pattern, length, random()));
    }
    request.wants_values = true;
    for (const int32_t k : {1, 512, 2048}) {
      for (const bool deterministic : {false, true}) {
        ExpectTopK({.dtype = DType::kBfloat16, .k = k, .deterministic = deterministic}, {request});
      }
    }
  }
}

TEST_P(ContractTest, Bfloat16TakesEveryOption) {
  TopKRequest request = NormalRequest({700, 9000, 16384, 300, 5001}, random());
  request.row_starts = {3, 0, 1, 1001, 7};
  request.index_offsets = {0, 5, -3, 1001, 1 << 20};
  request.pages = RandomPageTable(5, 17000, 64, random());
  request.wants_slots = request.wants_values = true;
  request.stride_padding = 3;
  request.misaligned_elements = 1;
  request.output_padding = 1;
  for (const int32_t k : {1, 512, 2048}) ExpectTopKInAllModes(DType::kBfloat16, k, request);
}

TEST_P(ContractTest, LongBfloat16RowsAreRight) {
  if (MaxLength() < 131072) GTEST_SKIP() << "left out at this scale";
  for (const int32_t length : {24577, 65536, 131072, 1048576}) {
    TopKRequest request = NormalRequest({length}, random());
    for (const bool deterministic : {false, true}) {
      ExpectTopK({.dtype = DType::kBfloat16, .k = 2048, .deterministic = deterministic}, {request});
    }
  }
}

TEST_P(ContractTest, ManyCandidateRowsOfBfloat16AreRight) {
  std::vector<int32_t> lengths(64);
  for (int32_t& length : lengths) length = static_cast<int32_t>(random().Between(16000, 16384));
  ExpectTopK({.dtype = DType::kBfloat16, .k = 512}, {NormalRequest(lengths, random())});
}

}  // namespace
}  // namespace winnow::contract
