// Windows, offsets, alignment, outputs and orders, and that `deterministic` gives the same bits
// everywhere.

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

TEST_P(ContractTest, RaggedStartsOfEveryAlignmentAreRight) {
  for (const int32_t length : {500, 3000, 20000}) {
    for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
      TopKRequest request = NormalRequest(std::vector<int32_t>(9, length), random());
      request.row_starts = {0, 1, 2, 3, 4, 5, 6, 7, 1001};
      request.wants_values = true;
      ExpectTopK({.dtype = dtype, .k = 512}, {request});
      request.index_offsets = request.row_starts;
      ExpectTopK({.dtype = dtype, .k = 512, .deterministic = true}, {request});
    }
  }
}

TEST_P(ContractTest, EveryAlignmentOfTheScoresIsRight) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (int32_t elements = 0; elements < 16; ++elements) {
      TopKRequest request = NormalRequest({3000, 5001, 16381}, random());
      request.misaligned_elements = elements;
      request.stride_padding = elements % 5;
      ExpectTopK({.dtype = dtype, .k = 512}, {request});
    }
  }
}

TEST_P(ContractTest, EveryCombinationOfOutputsIsRight) {
  for (int32_t wanted = 1; wanted < 8; ++wanted) {
    TopKRequest request = NormalRequest({3000, 100, 20000, 0}, random());
    request.pages = RandomPageTable(4, 20000, 64, random());
    request.wants_indices = (wanted & 1) != 0;
    request.wants_slots = (wanted & 2) != 0;
    request.wants_values = (wanted & 4) != 0;
    request.output_padding = wanted;
    for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
      ExpectTopKInAllModes(dtype, 512, request);
    }
  }
}

TEST_P(ContractTest, IndexOffsetsAreAddedToIndicesAlone) {
  TopKRequest request = NormalRequest({3000, 100, 20000, 5}, random());
  request.pages = RandomPageTable(4, 20000, 64, random());
  request.index_offsets = {1, -50, INT32_MAX - 19999, INT32_MIN};
  request.wants_slots = request.wants_values = true;
  ExpectTopKInAllModes(DType::kFloat32, 512, request);
}

TEST_P(ContractTest, ShortRowsAreTheIdentityUnlessScoresOrderThem) {
  TopKRequest request;
  for (const int32_t length : {0, 1, 2, 31, 511, 512}) {
    request.windows.push_back(MakeScores(testing::Pattern::kRelu, length, random()));
  }
  request.wants_values = true;
  ExpectTopKInAllModes(DType::kFloat32, 512, request);
}

TEST_P(ContractTest, TiesInScoreOrderAscendByPosition) {
  TopKRequest request;
  for (const auto pattern : {testing::Pattern::kTwoValues, testing::Pattern::kRelu,
                             testing::Pattern::kAllEqual, testing::Pattern::kNanMany}) {
    for (const int32_t length : {600, 5000, 20000}) {
      request.windows.push_back(MakeScores(pattern, length, random()));
    }
  }
  for (const int32_t k : {512, 2048}) {
    ExpectTopK({.k = k, .order = Order::kScore}, {request});
    ExpectTopK({.k = k, .order = Order::kScore, .deterministic = true}, {request});
  }
}

TEST_P(ContractTest, DeterministicResultsRepeatInEveryRun) {
  TopKRequest request;
  for (const int32_t length : {9000, 300, 16384, 5000}) {
    request.windows.push_back(MakeScores(testing::Pattern::kTwoValues, length, random()));
  }
  // Equal to the reference bit for bit each time, and so to each other.
  for (int repetition = 0; repetition < Repetitions(50); ++repetition) {
    ExpectTopK({.k = 512, .deterministic = true}, {request});
  }
}

TEST_P(ContractTest, DeterministicResultsAreTheSameAtEveryBatchPosition) {
  const auto row = MakeScores(testing::Pattern::kRelu, 12000, random());
  for (int32_t place = 0; place < 33; place += 4) {
    TopKRequest request = NormalRequest(std::vector<int32_t>(33, 2000), random());
    request.windows[place] = row;
    ExpectTopK({.k = 2048, .deterministic = true}, {request});
  }
}

}  // namespace
}  // namespace winnow::contract
