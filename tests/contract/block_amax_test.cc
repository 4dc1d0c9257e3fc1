// Level-one keys.

#include <cmath>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

BlockAmaxRequest AmaxRequest(testing::Pattern pattern, const std::vector<int32_t>& lengths,
                             testing::Random& random) {
  BlockAmaxRequest request;
  for (const int32_t length : lengths) {
    request.windows.push_back(MakeScores(pattern, length, random));
  }
  return request;
}

TEST_P(ContractTest, EveryBlockSizeHasItsMaximaAndAnInfiniteLastBlock) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (int32_t block_size = 2; block_size <= 128; block_size *= 2) {
      auto request = AmaxRequest(
          testing::Pattern::kNormal,
          {0, 1, block_size - 1, block_size, block_size + 1, 1000, 4095, 4096, 9001}, random());
      ExpectBlockAmax({.dtype = dtype, .block_size = block_size}, {request});
    }
  }
}

TEST_P(ContractTest, BlockKeysOfEveryPatternAreRight) {
  for (const testing::Pattern pattern : testing::AllPatterns()) {
    SCOPED_TRACE(Name(pattern));
    for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
      for (const int32_t block_size : {2, 8, 64}) {
        ExpectBlockAmax({.dtype = dtype, .block_size = block_size},
                        {AmaxRequest(pattern, {5, 4096, 20001}, random())});
      }
    }
  }
}

TEST_P(ContractTest, AKeyThatIsZeroIsPositiveWhateverTheSignsOfItsZeros) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (int32_t block_size = 2; block_size <= 128; block_size *= 2) {
      BlockAmaxRequest request;
      request.windows.emplace_back(1000, -0.0f);
      std::vector<float> mixed(4099);
      for (float& score : mixed) score = random().OneIn(2) ? -0.0f : 0.0f;
      request.windows.push_back(mixed);
      for (float& score : mixed) score = random().OneIn(2) ? -0.0f : -1.0f;
      request.windows.push_back(mixed);
      for (float& score : mixed) score = random().OneIn(3) ? NAN : -0.0f;
      request.windows.push_back(mixed);
      ExpectBlockAmax({.dtype = dtype, .block_size = block_size}, {request});
    }
  }
}

TEST_P(ContractTest, RowsOfFewBlocksAreLeftUntouchedWhenAskedFor) {
  for (const int32_t skip : {1, 2, 100, 512, 2048}) {
    ExpectBlockAmax({.skip_at_most = skip},
                    {AmaxRequest(testing::Pattern::kNormal, {0, 8, 9, 16, 17, 800, 801, 4096, 4097},
                                 random())});
  }
}

TEST_P(ContractTest, EveryAlignmentAndStrideOfBlockScoresIsRight) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (int32_t elements = 0; elements < 16; ++elements) {
      auto request = AmaxRequest(testing::Pattern::kNormal, {1000, 33, 4099, 2050}, random());
      request.misaligned_elements = elements;
      request.stride_padding = elements % 7;
      request.keys_padding = elements % 3;
      request.columns = 4099 + elements;
      ExpectBlockAmax({.dtype = dtype}, {request});
    }
  }
}

TEST_P(ContractTest, BlockCountsMayBeLeftOut) {
  auto request = AmaxRequest(testing::Pattern::kNormal, {1000, 33}, random());
  request.wants_block_counts = false;
  ExpectBlockAmax({}, {request});
}

TEST_P(ContractTest, NegativeLengthsHaveNoBlocks) {
  auto request = AmaxRequest(testing::Pattern::kNormal, {0, 1000, 0}, random());
  request.lengths = {-1, 1000, -4};
  ExpectBlockAmax({}, {request});
}

TEST_P(ContractTest, LongRowsAndManyRowsHaveTheirKeys) {
  const auto longest = static_cast<int32_t>(std::min<int64_t>(MaxLength(), 1048576));
  ExpectBlockAmax({},
                  {AmaxRequest(testing::Pattern::kNormal, {longest, 100, longest - 1}, random())});
  ExpectBlockAmax(
      {}, {AmaxRequest(testing::Pattern::kRelu, std::vector<int32_t>(513, 3000), random())});
}

TEST_P(ContractTest, BlockKeysOfSeveralRequestsShareALaunch) {
  std::vector<BlockAmaxRequest> requests;
  for (const int32_t rows : {1, 5, 40}) {
    std::vector<int32_t> lengths(rows);
    for (int32_t& length : lengths) length = static_cast<int32_t>(random().Below(5000));
    requests.push_back(AmaxRequest(testing::Pattern::kNormal, lengths, random()));
  }
  ExpectBlockAmax({.block_size = 16, .skip_at_most = 10}, requests);
}

TEST_P(ContractTest, BlockAmaxReportsRowsThatDoNotFit) {
  auto request = AmaxRequest(testing::Pattern::kNormal, {1000, 4000, 3000}, random());
  request.keys_columns = 400;
  ExpectBlockAmax({}, {request});  // row 1 needs 500 keys
  request.keys_columns = 0;
  request.lengths = {1000, 4001, 3000};
  ExpectBlockAmax({}, {request, AmaxRequest(testing::Pattern::kNormal, {77}, random())});
}

}  // namespace
}  // namespace winnow::contract
