// Bad data in device memory: bounded, padded, reported, and never another request's problem.

#include <limits>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

TopKRequest GoodRequest(testing::Random& random) {
  TopKRequest request = NormalRequest({700, 9000, 300, 20000}, random);
  request.pages = RandomPageTable(4, 20000, 64, random);
  request.index_offsets = {0, 5, -1, 7};
  request.row_starts = {0, 3, 1, 0};
  request.wants_slots = request.wants_values = true;
  return request;
}

class Faults {
 public:
  explicit Faults(TopKRequest good) : good_(std::move(good)) {}

  // `spoil` changes a copy of the good request, which then runs between two good ones.
  template <typename Spoil>
  std::vector<TopKRequest> Spoiled(Spoil spoil) const {
    TopKRequest bad = good_;
    spoil(bad);
    return {good_, bad, good_};
  }

 private:
  TopKRequest good_;
};

TEST_P(ContractTest, BadLengthsPadTheirRow) {
  const Faults faults(GoodRequest(random()));
  for (const int32_t length : {20001, 1 << 21, INT32_MAX}) {
    for (const bool deterministic : {false, true}) {
      ExpectTopK({.k = 512, .deterministic = deterministic}, faults.Spoiled([&](TopKRequest& bad) {
        bad.lengths = {700, length, 300, 20000};
      }));
    }
  }
}

TEST_P(ContractTest, BadRowStartsPadTheirRow) {
  const Faults faults(GoodRequest(random()));
  for (const int32_t start : {-1, INT32_MIN, 20001, INT32_MAX}) {
    ExpectTopK({.k = 512}, faults.Spoiled([&](TopKRequest& bad) {
      bad.lengths = {700, 9000, 300, 20000};
      bad.columns = 20000;
      bad.row_starts[2] = start;
    }));
  }
  // The start is right, but the row then ends past its columns.
  ExpectTopK({.k = 512}, faults.Spoiled([&](TopKRequest& bad) {
    bad.lengths = {700, 9000, 300, 20000};
    bad.columns = 20000;
    bad.row_starts[2] = 19701;
  }));
}

TEST_P(ContractTest, BadPageTableRowsPadTheirRow) {
  const Faults faults(GoodRequest(random()));
  for (const int32_t table_row : {-1, 4, INT32_MAX, INT32_MIN}) {
    ExpectTopK({.k = 512}, faults.Spoiled([&](TopKRequest& bad) {
      bad.pages.table_rows = {0, 1, table_row, 3};
    }));
  }
}

TEST_P(ContractTest, ATableTooNarrowForARowPadsIt) {
  const Faults faults(GoodRequest(random()));
  ExpectTopK({.k = 512}, faults.Spoiled([&](TopKRequest& bad) {
    bad.pages.columns = 312;  // row 3 needs 313
    bad.pages.entries.resize(4 * 312);
  }));
}

TEST_P(ContractTest, BadPageIdsPadTheirSlotsAlone) {
  const Faults faults(GoodRequest(random()));
  for (const int32_t page : {-1, INT32_MIN, INT32_MAX, 946}) {
    ExpectTopK({.k = 512, .deterministic = true}, faults.Spoiled([&](TopKRequest& bad) {
      ASSERT_LE(bad.pages.pool_pages, 946);
      bad.pages.entries[bad.pages.columns + 20] = page;
    }));
    ExpectTopK({.k = 2048}, faults.Spoiled([&](TopKRequest& bad) {
      for (int32_t& entry : bad.pages.entries) entry = page;
    }));
  }
}

TEST_P(ContractTest, PageIdsWhoseSlotsOverflowAreRefusedWithoutADeclaredPool) {
  const Faults faults(GoodRequest(random()));
  ExpectTopK({.k = 512}, faults.Spoiled([&](TopKRequest& bad) {
    bad.pages.pool_pages = 0;
    for (int32_t& entry : bad.pages.entries) entry = 1 << 25;
  }));
}

TEST_P(ContractTest, IndicesThatOverflowPadTheirRow) {
  const Faults faults(GoodRequest(random()));
  for (const int32_t offset : {INT32_MAX, INT32_MAX - 298}) {
    ExpectTopK({.k = 512},
               faults.Spoiled([&](TopKRequest& bad) { bad.index_offsets[2] = offset; }));
  }
}

TEST_P(ContractTest, SeveralFaultsInOneRequestPadEachRow) {
  const Faults faults(GoodRequest(random()));
  ExpectTopK({.k = 512}, faults.Spoiled([&](TopKRequest& bad) {
    bad.lengths = {700, INT32_MAX, 300, 20000};
    bad.row_starts[0] = -3;
    bad.pages.table_rows = {0, 1, 9, 3};
  }));
}

TEST_P(ContractTest, EmptyRowsHaveNothingThatCanBeWrong) {
  TopKRequest request = GoodRequest(random());
  request.columns = 20000;
  request.lengths = {0, 9000, -4, 20000};
  request.row_starts = {-5, 3, INT32_MAX, 0};
  request.index_offsets = {INT32_MAX, 0, INT32_MAX, 0};
  request.pages.table_rows = {77, 1, -1, 3};
  ExpectTopK({.k = 512}, {request});
}

TEST_P(ContractTest, FaultsAreFoundOnShortRowsToo) {
  TopKRequest request = NormalRequest({5, 6, 7}, random());
  request.pages = RandomPageTable(3, 7, 1, random());
  request.wants_slots = true;
  request.pages.entries[7 + 3] = -9;
  ExpectTopK({.k = 512}, {request});
  request.lengths = {5, 6, 8};
  ExpectTopK({.k = 512}, {request});
}

TEST_P(ContractTest, FaultsInBfloat16RequestsArePaddedWithItsInfinity) {
  const Faults faults(GoodRequest(random()));
  ExpectTopK({.dtype = DType::kBfloat16, .k = 2048}, faults.Spoiled([&](TopKRequest& bad) {
    bad.lengths = {700, INT32_MAX, 300, 20000};
  }));
}

}  // namespace
}  // namespace winnow::contract
