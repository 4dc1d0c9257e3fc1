// The tables of malformed BlockAmax, SortCandidateBlocks and PublishCandidates calls.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/testing/status_matchers.h"
#include "winnow/kernels/operations.h"

namespace winnow {
namespace {

using Reason = ErrorReason;

PageTransform GoodPages(const int32_t* memory) {
  return {.page_table = memory,
          .page_table_rows = nullptr,
          .row_stride = 16,
          .table_rows = 4,
          .table_columns = 13,
          .page_size = 8,
          .pool_pages = 100};
}

struct AmaxCall {
  AmaxCall() {
    segment = {.scores = memory,
               .row_stride = 100,
               .rows = 4,
               .columns = 100,
               .lengths = memory,
               .keys = keys,
               .keys_row_stride = 13,
               .keys_columns = 13,
               .block_counts = memory,
               .report = &report};
  }
  absl::Status Check() const { return CheckBlockAmax(params, {&segment, 1}); }

  int32_t memory[1] = {};
  float keys[1] = {};
  SegmentReport report;
  BlockAmaxParams params;
  BlockAmaxSegment segment;
};

struct SortCall {
  SortCall() {
    segment = {.blocks = memory,
               .blocks_row_stride = 64,
               .rows = 4,
               .lengths = memory,
               .pages = GoodPages(memory),
               .out_blocks = memory,
               .block_slots = memory,
               .candidate_lengths = memory,
               .out_blocks_row_stride = 64,
               .block_slots_row_stride = 64,
               .report = &report};
  }
  absl::Status Check() const { return CheckSortBlocks(params, {&segment, 1}); }

  int32_t memory[1] = {};
  SegmentReport report;
  SortBlocksParams params{.width = 64};
  SortBlocksSegment segment;
};

struct PublishCall {
  PublishCall() {
    segment = {.scores = memory,
               .row_stride = 100,
               .rows = 4,
               .columns = 100,
               .lengths = memory,
               .pages = GoodPages(memory),
               .slots = memory,
               .indices = memory,
               .blocks = memory,
               .block_slots = memory,
               .candidate_lengths = memory,
               .slots_row_stride = 7,
               .indices_row_stride = 7,
               .blocks_row_stride = 5,
               .block_slots_row_stride = 5,
               .report = &report};
  }
  absl::Status Check() const { return CheckPublish(params, {&segment, 1}); }

  int32_t memory[1] = {};
  SegmentReport report;
  PublishParams params{.k = 7, .k_blocks = 5};
  PublishSegment segment;
};

template <typename Call>
struct Malformed {
  Reason reason;
  const char* field;
  void (*spoil)(Call&);
};

template <typename Call, size_t kCount>
void ExpectRefused(const Malformed<Call> (&table)[kCount]) {
  EXPECT_OK(Call().Check());
  for (const Malformed<Call>& entry : table) {
    Call call;
    entry.spoil(call);
    const absl::Status status = call.Check();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << &entry - table;
    EXPECT_THAT(status, testing::FailsWith(entry.reason, entry.field)) << &entry - table;
  }
}

TEST(ChecksBlocksTest, MalformedBlockAmaxCallsAreRefused) {
  const Malformed<AmaxCall> table[] = {
      {Reason::kDtypeUnsupported, "dtype", [](auto& c) { c.params.dtype = DType::kInt32; }},
      {Reason::kBlockSizeInvalid, "block_size", [](auto& c) { c.params.block_size = 1; }},
      {Reason::kBlockSizeInvalid, "block_size", [](auto& c) { c.params.block_size = 12; }},
      {Reason::kBlockSizeInvalid, "block_size", [](auto& c) { c.params.block_size = 256; }},
      {Reason::kBlockSizeInvalid, "block_size", [](auto& c) { c.params.block_size = -8; }},
      {Reason::kValueOutOfRange, "skip_at_most", [](auto& c) { c.params.skip_at_most = -1; }},
      {Reason::kShapeOutOfRange, "rows", [](auto& c) { c.segment.rows = 0; }},
      {Reason::kShapeOutOfRange, "columns", [](auto& c) { c.segment.columns = kMaxColumns + 1; }},
      {Reason::kStrideTooSmall, "row_stride", [](auto& c) { c.segment.row_stride = 99; }},
      {Reason::kSizeOverflow, "row_stride", [](auto& c) { c.segment.row_stride = INT64_MAX; }},
      {Reason::kFieldMissing, "scores", [](auto& c) { c.segment.scores = nullptr; }},
      {Reason::kFieldMissing, "lengths", [](auto& c) { c.segment.lengths = nullptr; }},
      {Reason::kFieldMissing, "keys", [](auto& c) { c.segment.keys = nullptr; }},
      {Reason::kShapeOutOfRange, "keys_columns", [](auto& c) { c.segment.keys_columns = 0; }},
      {Reason::kStrideTooSmall, "keys_row_stride", [](auto& c) { c.segment.keys_row_stride = 12; }},
      {Reason::kFieldMissing, "report", [](auto& c) { c.segment.report = nullptr; }},
  };
  ExpectRefused(table);
}

TEST(ChecksBlocksTest, MalformedSortBlocksCallsAreRefused) {
  const Malformed<SortCall> table[] = {
      {Reason::kShapeOutOfRange, "width", [](auto& c) { c.params.width = 0; }},
      {Reason::kShapeOutOfRange, "width", [](auto& c) { c.params.width = 2049; }},
      {Reason::kBlockSizeInvalid, "block_size", [](auto& c) { c.params.block_size = 0; }},
      {Reason::kShapeOutOfRange, "rows", [](auto& c) { c.segment.rows = -1; }},
      {Reason::kFieldMissing, "blocks", [](auto& c) { c.segment.blocks = nullptr; }},
      {Reason::kStrideTooSmall, "blocks_row_stride",
       [](auto& c) { c.segment.blocks_row_stride = 63; }},
      {Reason::kFieldMissing, "lengths", [](auto& c) { c.segment.lengths = nullptr; }},
      {Reason::kFieldMissing, "out_blocks", [](auto& c) { c.segment.out_blocks = nullptr; }},
      {Reason::kFieldsConflict, "out_blocks_row_stride",
       [](auto& c) { c.segment.out_blocks_row_stride = 65; }},
      {Reason::kSizeOverflow, "block_slots_row_stride",
       [](auto& c) { c.segment.block_slots_row_stride = INT64_MAX; }},
      {Reason::kFieldMissing, "pages.page_table",
       [](auto& c) { c.segment.pages.page_table = nullptr; }},
      {Reason::kPageSizeInvalid, "pages.page_size", [](auto& c) { c.segment.pages.page_size = 4; }},
      {Reason::kShapeMismatch, "pages.table_rows", [](auto& c) { c.segment.pages.table_rows = 3; }},
      {Reason::kFieldMissing, "report", [](auto& c) { c.segment.report = nullptr; }},
  };
  ExpectRefused(table);
}

TEST(ChecksBlocksTest, MalformedPublishCallsAreRefused) {
  const Malformed<PublishCall> table[] = {
      {Reason::kDtypeUnsupported, "dtype", [](auto& c) { c.params.dtype = DType{0}; }},
      {Reason::kKOutOfRange, "k", [](auto& c) { c.params.k = 0; }},
      {Reason::kKOutOfRange, "k_blocks", [](auto& c) { c.params.k_blocks = 2049; }},
      {Reason::kBlockSizeInvalid, "block_size", [](auto& c) { c.params.block_size = 7; }},
      {Reason::kEnumUnknown, "order", [](auto& c) { c.params.order = Order{9}; }},
      {Reason::kShapeOutOfRange, "rows", [](auto& c) { c.segment.rows = kMaxRows + 1; }},
      {Reason::kSizeOverflow, "row_stride", [](auto& c) { c.segment.row_stride = INT64_MAX - 1; }},
      {Reason::kFieldMissing, "slots",
       [](auto& c) {
         c.segment.slots = c.segment.indices = c.segment.blocks = c.segment.block_slots = nullptr;
         c.segment.candidate_lengths = nullptr;
       }},
      {Reason::kStrideTooSmall, "slots_row_stride",
       [](auto& c) { c.segment.slots_row_stride = 6; }},
      {Reason::kStrideTooSmall, "indices_row_stride",
       [](auto& c) { c.segment.indices_row_stride = 0; }},
      {Reason::kStrideTooSmall, "blocks_row_stride",
       [](auto& c) { c.segment.blocks_row_stride = 4; }},
      {Reason::kSizeOverflow, "block_slots_row_stride",
       [](auto& c) { c.segment.block_slots_row_stride = INT64_MAX; }},
      {Reason::kFieldMissing, "pages.page_table",
       [](auto& c) { c.segment.pages.page_table = nullptr; }},
      {Reason::kPageSizeInvalid, "pages.page_size", [](auto& c) { c.segment.pages.page_size = 4; }},
      {Reason::kValueOutOfRange, "max_length", [](auto& c) { c.segment.max_length = -2; }},
      {Reason::kFieldMissing, "report", [](auto& c) { c.segment.report = nullptr; }},
  };
  ExpectRefused(table);
}

}  // namespace
}  // namespace winnow
