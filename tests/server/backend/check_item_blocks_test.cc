// Malformed items of the two-level operations: each has one thing wrong, and the error names it.

#include <gtest/gtest.h>

#include "server/backend/work_key.h"
#include "tests/server/backend/check_item_cases.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using enum ErrorReason;

TEST(CheckItemTest, MalformedBlockAmaxIsRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<BlockAmaxStep>>;
  ExpectRefused<BlockAmaxStep>(
      &Inputs::Amax,
      Case{
          {"block size 1", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 1; }},
          {"block size 12", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 12; }},
          {"block size 256", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 256; }},
          {"skip", kValueOutOfRange, "skip_at_most",
           [](auto& s, auto&) { s.params.skip_at_most = -1; }},
          {"keys narrow", kKeysTooNarrow, "keys", [](auto& s, auto&) { s.key_columns = 7; }},
          {"keys without columns", kShapeOutOfRange, "key_column_count",
           [](auto& s, auto&) { s.key_columns = 0; }},
          {"no keys", kFieldMissing, "keys", [](auto& s, auto&) { s.keys = {}; }},
          {"length", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({65, 0});
           }},
      });
}

TEST(CheckItemTest, MalformedSortIsRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<SortBlocksStep>>;
  ExpectRefused<SortBlocksStep>(
      &Inputs::Sort,
      Case{
          {"float blocks", kDtypeUnsupported, "blocks.data_type",
           [](auto& s, auto&) { s.blocks.dtype = DType::kFloat32; }},
          {"no blocks wide", kShapeOutOfRange, "blocks.column_count",
           [](auto& s, auto&) { s.blocks.columns = 0; }},
          {"too wide", kShapeOutOfRange, "blocks.column_count",
           [](auto& s, auto&) { s.blocks.columns = 2049; }},
          {"another width", kShapeMismatch, "blocks.column_count",
           [](auto& s, auto&) { s.params.width = 3; }},
          {"id past the row", kBlockIdOutOfRange, "blocks",
           [](auto& s, auto& in) {
             s.blocks =
                 in.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{8, 0, 0, 0, 0, 0, 0, 0});
           }},
          {"id below -1", kBlockIdOutOfRange, "blocks",
           [](auto& s, auto& in) {
             s.blocks =
                 in.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>{0, 0, 0, -2, 0, 0, 0, 0});
           }},
          {"no output", kFieldMissing, "out_blocks", [](auto& s, auto&) { s.blocks_out = {}; }},
          {"no table", kFieldMissing, "page_table", [](auto& s, auto&) { s.pages = {}; }},
          {"page below block", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 4; }},
          {"length past the limit", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({(1 << 21) + 1, 0});
           }},
          {"table narrow", kPageTableTooNarrow, "page_table",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({65, 0});
           }},
          {"page id", kPageIdOutOfRange, "page_table",
           [](auto& s, auto&) { s.pages.pool_pages = 3; }},
      });
}

TEST(CheckItemTest, MalformedPublishIsRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<PublishStep>>;
  ExpectRefused<PublishStep>(
      &Inputs::Publish,
      Case{
          {"k", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = 0; }},
          {"k_blocks", kKOutOfRange, "k_blocks", [](auto& s, auto&) { s.params.k_blocks = 2049; }},
          {"block size", kBlockSizeInvalid, "block_size",
           [](auto& s, auto&) { s.params.block_size = 0; }},
          {"order", kEnumUnknown, "order",
           [](auto& s, auto&) { s.params.order = static_cast<Order>(-1); }},
          {"no table", kFieldMissing, "page_table", [](auto& s, auto&) { s.pages = {}; }},
          {"page below block", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 2; }},
          {"page id", kPageIdOutOfRange, "page_table",
           [](auto& s, auto&) { s.pages.pool_pages = 2; }},
          {"length", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({0, 100});
           }},
      });
}

}  // namespace
}  // namespace winnow::server
