// The block table of the two-level indexer.

#include <algorithm>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

// A row of `kept` random blocks out of those of `length` positions.
std::vector<int32_t> RandomBlocks(int64_t kept, int32_t length, int32_t block_size,
                                  testing::Random& random) {
  const int64_t blocks = (int64_t{length} + block_size - 1) / block_size;
  return testing::DistinctNumbers(std::min(kept, blocks), blocks, random);
}

TEST_P(ContractTest, BlocksAreSortedForEveryWidthAndSize) {
  for (const int32_t width : {1, 7, 64, 512, 2047, 2048}) {
    for (const int32_t block_size : {2, 8, 128}) {
      SortBlocksRequest request;
      for (const int32_t length :
           {100000, 0, 1, width * block_size, width * block_size + 1, 70001}) {
        request.lengths.push_back(length);
        request.blocks.push_back(RandomBlocks(width, length, block_size, random()));
      }
      ExpectSortBlocks({.width = width, .block_size = block_size}, {request});
    }
  }
}

TEST_P(ContractTest, DuplicatesCollapseAndMinusOneIsIgnored) {
  SortBlocksRequest request;
  request.lengths = {100000, 100000, 100000, 100000};
  request.blocks.resize(4);
  for (int i = 0; i < 512; ++i) {
    request.blocks[0].push_back(static_cast<int32_t>(random().Below(12500)));
    request.blocks[1].push_back(random().OneIn(2) ? -1 : static_cast<int32_t>(random().Below(40)));
    request.blocks[2].push_back(12499);
  }
  ExpectSortBlocks({.width = 512}, {request});
}

TEST_P(ContractTest, ARowThatFitsIsTheIdentityWhateverTheInputHolds) {
  SortBlocksRequest request;
  request.lengths = {4096, 4089, 8};
  request.blocks = {std::vector<int32_t>(512, 1 << 30), std::vector<int32_t>(512, -77),
                    std::vector<int32_t>(512, 3)};
  ExpectSortBlocks({.width = 512}, {request});
}

TEST_P(ContractTest, BlocksAreSortedInPlace) {
  for (const int64_t padding : {0, 3}) {
    SortBlocksRequest request;
    for (const int32_t length : {100000, 3000, 2097152, 0}) {
      request.lengths.push_back(length);
      request.blocks.push_back(RandomBlocks(512, length, 8, random()));
    }
    request.in_place = true;
    request.padding = padding;
    ExpectSortBlocks({.width = 512}, {request});
  }
}

TEST_P(ContractTest, BlockSlotsFollowThePageTable) {
  for (const int32_t page_size : {8, 64, 256, 4096}) {
    SortBlocksRequest request;
    for (const int32_t length : {100000, 3000, 16384, 0, 99999}) {
      request.lengths.push_back(length);
      request.blocks.push_back(RandomBlocks(2048, length, 8, random()));
    }
    request.pages = RandomPageTable(5, 100000, page_size, random());
    request.wants_block_slots = true;
    request.padding = 1;
    ExpectSortBlocks({.width = 2048}, {request});
    request.pages.table_rows = {4, 0, 0, 9, 1};
    ExpectSortBlocks({.width = 2048}, {request});
  }
}

TEST_P(ContractTest, NegativeLengthsGiveAnEmptyBlockTable) {
  SortBlocksRequest request;
  request.lengths = {-1, 100000, -4};
  request.blocks = {{3, 4}, RandomBlocks(64, 100000, 8, random()), {}};
  ExpectSortBlocks({.width = 64}, {request});
}

TEST_P(ContractTest, ManyBlockTablesShareALaunch) {
  std::vector<SortBlocksRequest> requests(3);
  for (auto& request : requests) {
    const int64_t rows = random().Between(1, 200);
    for (int64_t row = 0; row < rows; ++row) {
      request.lengths.push_back(static_cast<int32_t>(random().Below(200000)));
      request.blocks.push_back(RandomBlocks(512, request.lengths.back(), 8, random()));
    }
  }
  ExpectSortBlocks({.width = 512}, requests);
}

TEST_P(ContractTest, BadBlockIdsAreDroppedAndReported) {
  SortBlocksRequest good;
  good.lengths = {100000};
  good.blocks = {RandomBlocks(64, 100000, 8, random())};
  for (const int32_t bad : {12500, 12501, INT32_MAX, -2, INT32_MIN}) {
    SortBlocksRequest request = good;
    request.blocks[0][17] = bad;
    ExpectSortBlocks({.width = 64}, {good, request, good});
  }
}

TEST_P(ContractTest, BadPagesOfBlockSlotsAreReported) {
  SortBlocksRequest request;
  request.lengths = {100000, 50000};
  request.blocks = {RandomBlocks(64, 100000, 8, random()), RandomBlocks(64, 50000, 8, random())};
  request.pages = RandomPageTable(2, 100000, 64, random());
  request.wants_block_slots = true;
  const auto columns = request.pages.columns;
  SortBlocksRequest bad = request;
  bad.pages.entries[columns + request.blocks[1][5] / 8] = bad.pages.pool_pages;
  ExpectSortBlocks({.width = 64}, {request, bad});
  bad = request;
  bad.pages.table_rows = {0, 2};
  ExpectSortBlocks({.width = 64}, {bad});
  bad = request;
  bad.lengths[0] = columns * 64 + 1;
  ExpectSortBlocks({.width = 64}, {bad, request});
  bad.lengths[0] = kMaxColumns + 1;
  ExpectSortBlocks({.width = 64}, {bad});
}

}  // namespace
}  // namespace winnow::contract
