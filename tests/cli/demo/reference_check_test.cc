// The demo's own judge: it must see every difference.

#include "client/cli/demo/reference_check.h"

#include <cstring>
#include <string>
#include <vector>

#include "client/cli/demo/two_level.h"
#include "gtest/gtest.h"

namespace winnow::cli {
namespace {

// Scores 1 3 2 of one row, k 2, 2 blocks of 2, page 5: kept are positions 1 and 2 (slots 11 and
// 12 of pages of 2: here page ids 5 and 6), blocks 0 and 1.
struct Case {
  TwoLevelParameters parameters{
      .k = 2, .k_blocks = 2, .block_size = 2, .page_size = 2, .pool_pages = 8};
  std::vector<int32_t> pages = {5, 6};
  DemoRow row{.length = 3};
  client::PublishCandidatesResult published;
  std::vector<uint16_t> candidates = {0x3f80, 0x4000, 0x4040};  // 1 2 3
  client::ConsumeCandidatesResult consumed;

  Case() {
    const std::vector<float> scores = {1, 3, 2};
    row.bytes.resize(12);
    memcpy(row.bytes.data(), scores.data(), 12);
    published.indices = client::Matrix::OfInt32(1, 2, {1, 2});
    published.slots = client::Matrix::OfInt32(1, 2, {11, 12});
    published.blocks = client::Matrix::OfInt32(1, 2, {0, 1});
    published.block_slots = client::Matrix::OfInt32(1, 2, {5, 6});
    published.candidate_lengths = client::Matrix::OfInt32(1, 1, {3});
    consumed.indices = client::Matrix::OfInt32(1, 2, {1, 2});
    consumed.slots = client::Matrix::OfInt32(1, 2, {11, 12});
  }

  std::string Publish() const { return *DifferenceOfPublish(row, pages, parameters, published); }
  std::string Consume() const {
    return *DifferenceOfConsume(candidates, published, parameters, consumed);
  }
};

TEST(ReferenceCheckTest, RightResultsHaveNoDifference) {
  const Case good;
  EXPECT_EQ(good.Publish(), "");
  EXPECT_EQ(good.Consume(), "");
}

TEST(ReferenceCheckTest, OneWrongNumberInAnyOutputIsNamed) {
  Case bad;
  bad.published.slots = client::Matrix::OfInt32(1, 2, {11, 13});
  EXPECT_EQ(bad.Publish(), "slots[1] is 13, the reference has 12");
  bad = Case();
  bad.published.blocks = client::Matrix::OfInt32(1, 2, {1, 0});
  EXPECT_EQ(bad.Publish(), "blocks[0] is 1, the reference has 0");
  bad = Case();
  bad.published.candidate_lengths = client::Matrix::OfInt32(1, 1, {4});
  EXPECT_EQ(bad.Publish(), "candidate_lengths[0] is 4, the reference has 3");
  bad = Case();
  bad.consumed.indices = client::Matrix::OfInt32(1, 2, {0, 2});
  EXPECT_EQ(bad.Consume(), "consumed indices[0] is 0, the reference has 1");
}

TEST(ReferenceCheckTest, MissingOutputIsADifference) {
  Case bad;
  bad.published.block_slots = client::Matrix();
  EXPECT_EQ(bad.Publish(), "block_slots is missing");
  bad.consumed.slots = client::Matrix();
  // block_slots are the page table of what is consumed.
  bad.published = Case().published;
  EXPECT_EQ(bad.Consume(), "consumed slots is missing");
}

}  // namespace
}  // namespace winnow::cli
