// Malformed TopK items: each has one thing wrong, and the error names it.

#include <gtest/gtest.h>

#include "server/backend/work_key.h"
#include "tests/server/backend/check_item_cases.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using enum ErrorReason;

constexpr int64_t kHuge = int64_t{1} << 61;

TEST(CheckItemTest, MalformedTopKParametersAndScoresAreRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<TopKStep>>;
  ExpectRefused<TopKStep>(
      &Inputs::TopK,
      Case{
          {"k 0", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = 0; }},
          {"k negative", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = -1; }},
          {"k too large", kKOutOfRange, "k", [](auto& s, auto&) { s.params.k = 2049; }},
          {"order", kEnumUnknown, "order",
           [](auto& s, auto&) { s.params.order = static_cast<Order>(7); }},
          {"no scores", kFieldMissing, "scores", [](auto& s, auto&) { s.scores = {}; }},
          {"int32 scores", kDtypeUnsupported, "scores.data_type",
           [](auto& s, auto&) { s.scores.dtype = DType::kInt32; }},
          {"unknown dtype", kDtypeUnsupported, "scores.data_type",
           [](auto& s, auto&) { s.scores.dtype = static_cast<DType>(99); }},
          {"another dtype", kFieldsConflict, "scores.data_type",
           [](auto& s, auto&) { s.params.dtype = DType::kBfloat16; }},
          {"negative rows", kShapeOutOfRange, "scores.row_count",
           [](auto& s, auto&) { s.scores.rows = -1; }},
          {"rows", kShapeOutOfRange, "scores.row_count",
           [](auto& s, auto&) { s.scores.rows = 65537; }},
          {"columns", kShapeOutOfRange, "scores.column_count",
           [](auto& s, auto&) { s.scores.columns = (1 << 21) + 1; }},
          {"near 2^63", kShapeOutOfRange, "scores.row_count",
           [](auto& s, auto&) { s.scores.rows = std::numeric_limits<int64_t>::max(); }},
          {"stride small", kStrideTooSmall, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = 63; }},
          {"stride negative", kStrideTooSmall, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = -64; }},
          {"stride overflows", kSizeOverflow, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = kHuge; }},
          {"stride largest", kSizeOverflow, "scores.row_stride",
           [](auto& s, auto&) { s.scores.row_stride = std::numeric_limits<int64_t>::max(); }},
          {"no data", kFieldMissing, "scores", [](auto& s, auto&) { s.scores.data = nullptr; }},
          {"misaligned device memory", kAlignmentInvalid, "scores",
           [](auto& s, auto& in) {
             s.scores.source = TensorRef::Source::kDevice;
             s.scores.data = reinterpret_cast<std::byte*>(in.device.data()) + 2;
           }},
      });
}

TEST(CheckItemTest, MalformedTopKRowInputsAreRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<TopKStep>>;
  ExpectRefused<TopKStep>(
      &Inputs::TopK,
      Case{
          {"no lengths", kFieldMissing, "lengths", [](auto& s, auto&) { s.lengths = {}; }},
          {"float lengths", kDtypeUnsupported, "lengths.data_type",
           [](auto& s, auto&) { s.lengths.dtype = DType::kFloat32; }},
          {"few lengths", kShapeMismatch, "lengths.row_count",
           [](auto& s, auto&) { s.lengths.rows = 1; }},
          {"wide lengths", kShapeMismatch, "lengths.column_count",
           [](auto& s, auto&) { s.lengths.columns = 2; }},
          {"length too large", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({64, 65});
           }},
          {"length largest", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.lengths = in.arena.AddVector({INT32_MAX, 0});
           }},
          {"start and length", kLengthOutOfRange, "lengths",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({1, 0});
           }},
          {"start negative", kRowStartOutOfRange, "row_starts",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({0, -1});
           }},
          {"start past the columns", kRowStartOutOfRange, "row_starts",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({0, 65});
           }},
          {"starts for other rows", kShapeMismatch, "row_starts.row_count",
           [](auto& s, auto& in) {
             s.row_starts = in.arena.AddVector({0, 0, 0});
           }},
          {"offset", kIndexOutOfRange, "index_offsets",
           [](auto& s, auto& in) {
             s.index_offsets = in.arena.AddVector({INT32_MAX - 62, 0});
           }},
      });
}

TEST(CheckItemTest, MalformedTopKPageTablesAreRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<TopKStep>>;
  ExpectRefused<TopKStep>(
      &Inputs::TopK,
      Case{
          {"no table", kFieldMissing, "page_table", [](auto& s, auto&) { s.pages = {}; }},
          {"table without slots", kFieldsConflict, "page_table",
           [](auto& s, auto&) { s.slots = {}; }},
          {"page size 3", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 3; }},
          {"page size 0", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 0; }},
          {"page size negative", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = INT32_MIN; }},
          {"page size large", kPageSizeInvalid, "page_table.page_size",
           [](auto& s, auto&) { s.pages.page_size = 1 << 21; }},
          {"pool negative", kValueOutOfRange, "page_table.pool_page_count",
           [](auto& s, auto&) { s.pages.pool_pages = -1; }},
          {"table short", kShapeMismatch, "page_table.table.row_count",
           [](auto& s, auto&) { s.pages.table.rows = 1; }},
          {"table narrow", kPageTableTooNarrow, "page_table",
           [](auto& s, auto&) { s.pages.page_size = 8; }},
          {"table without columns", kShapeOutOfRange, "page_table.table.column_count",
           [](auto& s, auto&) { s.pages.table.columns = 0; }},
          {"table row", kPageTableRowOutOfRange, "page_table_rows",
           [](auto& s, auto& in) {
             s.pages.rows = in.arena.AddVector({0, 2});
           }},
          {"table row negative", kPageTableRowOutOfRange, "page_table_rows",
           [](auto& s, auto& in) {
             s.pages.rows = in.arena.AddVector({-1, 0});
           }},
      });
}

TEST(CheckItemTest, MalformedTopKPageIdsAreRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<TopKStep>>;
  ExpectRefused<TopKStep>(
      &Inputs::TopK, Case{
                         {"page id past the pool", kPageIdOutOfRange, "page_table",
                          [](auto& s, auto&) { s.pages.pool_pages = 3; }},
                         {"page id negative", kPageIdOutOfRange, "page_table",
                          [](auto& s, auto& in) {
                            s.pages.table = in.arena.Add(
                                DType::kInt32, 2, 4, std::vector<int32_t>{0, 0, 0, -1, 0, 0, 0, 0});
                          }},
                         {"slot past int32", kPageIdOutOfRange, "page_table",
                          [](auto& s, auto& in) {
                            s.pages.pool_pages = 0;
                            s.pages.table =
                                in.arena.Add(DType::kInt32, 2, 4, std::vector<int32_t>(8, 1 << 27));
                          }},
                     });
}

TEST(CheckItemTest, MalformedTopKOutputsAndReferencesAreRefusedWithReasonAndField) {
  using Case = std::vector<BadCase<TopKStep>>;
  ExpectRefused<TopKStep>(
      &Inputs::TopK,
      Case{
          {"no output", kFieldMissing, "indices",
           [](auto& s, auto&) {
             s.indices = {};
             s.slots = {};
             s.pages = {};
           }},
          {"output stride", kStrideTooSmall, "indices.row_stride",
           [](auto& s, auto& in) { s.indices = ToDevice(in.device.data(), 7); }},
          {"output nowhere", kFieldMissing, "indices",
           [](auto& s, auto&) { s.indices = ToDevice(nullptr); }},
          {"outputs overlap", kOutputsOverlap, "slots",
           [](auto& s, auto& in) {
             s.indices = ToDevice(in.device.data());
             s.slots = ToDevice(in.device.data() + 15);
           }},
          {"output over an input", kOutputsOverlap, "indices",
           [](auto& s, auto& in) {
             s.scores.source = TensorRef::Source::kDevice;
             s.scores.data = reinterpret_cast<std::byte*>(in.device.data());
             s.indices = ToDevice(in.device.data() + 127);
           }},
          {"reference in the first step", kStepReferenceInvalid, "scores.step_output.step_index",
           [](auto& s, auto&) {
             s.scores = FromStep(0, OutputName::kValues, DType::kFloat32, 2, 64);
           }},
          {"no columns, lengths unseen", kShapeOutOfRange, "scores.column_count",
           [](auto& s, auto& in) {
             s.scores.columns = 0;
             s.lengths.source = TensorRef::Source::kDevice;
           }},
          {"hint negative", kValueOutOfRange, "max_length",
           [](auto& s, auto&) { s.max_length = -1; }},
      });
}

}  // namespace
}  // namespace winnow::server
