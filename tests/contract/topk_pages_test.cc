// Positions mapped to slots through page tables.

#include <algorithm>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

TopKRequest PagedRequest(const std::vector<int32_t>& lengths, int32_t page_size,
                         testing::Random& random) {
  TopKRequest request = NormalRequest(lengths, random);
  int32_t longest = 1;
  for (const int32_t length : lengths) longest = std::max(longest, length);
  request.pages = RandomPageTable(request.rows(), longest, page_size, random);
  request.wants_slots = true;
  return request;
}

TEST_P(ContractTest, EveryPageSizeMapsPositionsToSlots) {
  for (const int32_t page_size : {1, 8, 64, 128, 256, 4096, kMaxPageSize}) {
    SCOPED_TRACE(page_size);
    const auto request =
        PagedRequest({0, 1, 511, 512, 513, 5000, 9000, 12345}, page_size, random());
    for (const int32_t k : {1, 7, 512, 2048}) ExpectTopK({.k = k}, {request});
  }
}

TEST_P(ContractTest, SlotsAloneAreRight) {
  auto request = PagedRequest({700, 9000, 300, 4097}, 64, random());
  request.wants_indices = false;
  ExpectTopKInAllModes(DType::kFloat32, 512, request);
}

TEST_P(ContractTest, LongRowsOfSmallPagesAreRight) {
  const auto length = static_cast<int32_t>(std::min<int64_t>(MaxLength(), 131072));
  for (const int32_t page_size : {1, 64}) {
    ExpectTopK({.k = 2048}, {PagedRequest({length, length / 2, 100}, page_size, random())});
  }
}

TEST_P(ContractTest, SeveralRowsMayShareATableRow) {
  TopKRequest request = NormalRequest({4000, 9000, 600, 4000, 0, 8999}, random());
  request.pages = RandomPageTable(3, 9000, 64, random());
  request.pages.table_rows = {2, 0, 0, 2, 77, 1};  // the empty row's is not looked at
  request.wants_slots = true;
  ExpectTopKInAllModes(DType::kFloat32, 512, request);
}

TEST_P(ContractTest, ATableMayHaveAnyStrideAndNoDeclaredPool) {
  TopKRequest request = PagedRequest({4000, 9000, 600}, 64, random());
  request.pages.stride_padding = 5;
  request.pages.pool_pages = 0;
  request.pages.entries[0] = (1 << 25) - 1;  // the last page whose slots fit int32
  ExpectTopK({.k = 2048}, {request});
}

TEST_P(ContractTest, EntriesPastARowsLastPageAreNotRead) {
  TopKRequest request = PagedRequest({640, 6400, 64, 65}, 64, random());
  const int32_t columns = request.pages.columns;
  for (int32_t row = 0; row < 4; ++row) {
    const int32_t used = (request.Lengths()[row] + 63) / 64;
    for (int32_t column = used; column < columns; ++column) {
      request.pages.entries[row * columns + column] = -7;
    }
  }
  ExpectTopK({.k = 2048}, {request});
  ExpectTopK({.k = 1}, {request});
}

TEST_P(ContractTest, SlotsAndIndicesAndValuesListTheSameSelection) {
  TopKRequest request = PagedRequest({4000, 9000, 600, 20000}, 8, random());
  for (auto& window : request.windows) {
    window = MakeScores(testing::Pattern::kRelu, static_cast<int64_t>(window.size()), random());
  }
  request.wants_values = true;
  request.output_padding = 3;
  ExpectTopKInAllModes(DType::kFloat32, 512, request);
  ExpectTopKInAllModes(DType::kBfloat16, 512, request);
}

}  // namespace
}  // namespace winnow::contract
