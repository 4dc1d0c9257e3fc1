#include "client/src/request_encoding.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

using ::winnow::testing::FailsWith;

// What `request` becomes, in text: every field that is set shows.
template <typename Message, typename Request>
std::string Encoded(const Request& request) {
  Message message;
  EXPECT_OK(Encode(request, message));
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintToString(message, &text);
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

const int32_t kOne[] = {1};
const MatrixView kColumn = Int32Matrix(kOne, 1, 1);
const std::string kTensor =
    "{ data_type: DATA_TYPE_INT32 row_count: 1 column_count: 1 inline_data: "
    "\"\\001\\000\\000\\000\" }";

TEST(RequestEncodingTest, TopKCarriesEveryField) {
  EXPECT_EQ(
      Encoded<v1::TopKRequest>(TopKRequest{.scores = kColumn,
                                           .lengths = kColumn,
                                           .k = 5,
                                           .row_starts = kColumn,
                                           .index_offsets = kColumn,
                                           .page_table = PageTableView{kColumn, 64, 100, kColumn},
                                           .order = Order::kScore,
                                           .deterministic = true,
                                           .indices = Placement::kInline,
                                           .slots = Placement::kKeep,
                                           .values = Placement::kInline,
                                           .static_threshold = 0}),
      "step { scores " + kTensor + " lengths " + kTensor + " k: 5 row_starts " + kTensor +
          " index_offsets " + kTensor + " page_table { table " + kTensor +
          " page_size: 64 pool_page_count: 100 row_indices " + kTensor +
          " } order: SELECTION_ORDER_SCORE deterministic: true"
          " indices { placement: OUTPUT_PLACEMENT_INLINE }"
          " slots { placement: OUTPUT_PLACEMENT_KEEP }"
          " values { placement: OUTPUT_PLACEMENT_INLINE } static_threshold: 0 }");
}

TEST(RequestEncodingTest, WhatTopKLeavesOutStaysAbsent) {
  EXPECT_EQ(Encoded<v1::TopKRequest>(TopKRequest{}),
            "step { order: SELECTION_ORDER_ANY indices { placement: OUTPUT_PLACEMENT_INLINE } }");
}

TEST(RequestEncodingTest, AnUnknownOrderIsLeftToTheServer) {
  v1::TopKRequest message;
  TopKRequest request;
  request.order = static_cast<Order>(std::numeric_limits<int32_t>::max() - 1);
  ASSERT_OK(Encode(request, message));
  EXPECT_FALSE(v1::SelectionOrder_IsValid(message.step().order()));
}

TEST(RequestEncodingTest, PlanTopKCarriesEveryField) {
  EXPECT_EQ(Encoded<v1::PlanTopKRequest>(PlanTopKRequest{.lengths = kColumn,
                                                         .columns = 9,
                                                         .k = 5,
                                                         .dtype = DType::kBfloat16,
                                                         .static_threshold = -1,
                                                         .list_pooled_rows = true}),
            "lengths " + kTensor +
                " column_count: 9 k: 5 data_type: DATA_TYPE_BFLOAT16 static_threshold: -1"
                " list_pooled_rows: true");
}

TEST(RequestEncodingTest, BlockAmaxCarriesEveryField) {
  EXPECT_EQ(Encoded<v1::BlockAmaxRequest>(BlockAmaxRequest{.scores = kColumn,
                                                           .lengths = kColumn,
                                                           .block_size = 16,
                                                           .skip_at_most = 2,
                                                           .key_columns = 3,
                                                           .keys = Placement::kInline,
                                                           .block_counts = Placement::kInline}),
            "step { scores " + kTensor + " lengths " + kTensor +
                " block_size: 16 skip_at_most: 2 key_column_count: 3"
                " keys { placement: OUTPUT_PLACEMENT_INLINE }"
                " block_counts { placement: OUTPUT_PLACEMENT_INLINE } }");
}

TEST(RequestEncodingTest, SortCandidateBlocksCarriesEveryField) {
  EXPECT_EQ(Encoded<v1::SortCandidateBlocksRequest>(
                SortCandidateBlocksRequest{.blocks = kColumn,
                                           .lengths = kColumn,
                                           .block_size = 16,
                                           .page_table = PageTableView{kColumn, 64},
                                           .out_blocks = Placement::kNone,
                                           .block_slots = Placement::kInline,
                                           .candidate_lengths = Placement::kInline}),
            "step { blocks " + kTensor + " lengths " + kTensor +
                " block_size: 16 page_table { table " + kTensor +
                " page_size: 64 } block_slots { placement: OUTPUT_PLACEMENT_INLINE }"
                " candidate_lengths { placement: OUTPUT_PLACEMENT_INLINE } }");
}

TEST(RequestEncodingTest, PublishCandidatesCarriesEveryField) {
  EXPECT_EQ(Encoded<v1::PublishCandidatesRequest>(
                PublishCandidatesRequest{.scores = kColumn,
                                         .lengths = kColumn,
                                         .page_table = PageTableView{kColumn, 64},
                                         .k = 1,
                                         .k_blocks = 2,
                                         .block_size = 4,
                                         .order = Order::kPosition,
                                         .deterministic = true,
                                         .indices = Placement::kInline}),
            "scores " + kTensor + " lengths " + kTensor + " page_table { table " + kTensor +
                " page_size: 64 } k: 1 k_blocks: 2 block_size: 4 order: SELECTION_ORDER_POSITION"
                " deterministic: true slots { placement: OUTPUT_PLACEMENT_INLINE }"
                " indices { placement: OUTPUT_PLACEMENT_INLINE }"
                " blocks { placement: OUTPUT_PLACEMENT_INLINE }"
                " block_slots { placement: OUTPUT_PLACEMENT_INLINE }"
                " candidate_lengths { placement: OUTPUT_PLACEMENT_INLINE }");
}

TEST(RequestEncodingTest, ConsumeCandidatesCarriesEveryField) {
  EXPECT_EQ(
      Encoded<v1::ConsumeCandidatesRequest>(ConsumeCandidatesRequest{.scores = kColumn,
                                                                     .candidate_lengths = kColumn,
                                                                     .block_slots = kColumn,
                                                                     .k = 1,
                                                                     .block_size = 4,
                                                                     .order = Order::kScore,
                                                                     .deterministic = true,
                                                                     .slots = Placement::kInline,
                                                                     .indices = Placement::kInline,
                                                                     .values = Placement::kInline}),
      "scores " + kTensor + " candidate_lengths " + kTensor + " block_slots " + kTensor +
          " k: 1 block_size: 4 order: SELECTION_ORDER_SCORE deterministic: true"
          " slots { placement: OUTPUT_PLACEMENT_INLINE }"
          " indices { placement: OUTPUT_PLACEMENT_INLINE }"
          " values { placement: OUTPUT_PLACEMENT_INLINE }");
}

TEST(RequestEncodingTest, ErrorsOfAChainNameTheStep) {
  ExecuteRequest request;
  request.steps.push_back(BlockAmaxRequest{.scores = kColumn});
  request.steps.push_back(TopKRequest{.page_table = PageTableView{Int32Matrix(nullptr, 1, 1), 8}});
  v1::ExecuteRequest message;
  EXPECT_THAT(Encode(request, message),
              FailsWith(ErrorReason::kFieldMissing, "steps[1].top_k.page_table.table.data"));
}

TEST(RequestEncodingTest, AdminRequestsCarryTheirFields) {
  EXPECT_EQ(Encoded<v1::ProbeOccupancyRequest>(ProbeOccupancyRequest{8, 2}),
            "cluster_size: 8 blocks_per_multiprocessor: 2");
  EXPECT_EQ(Encoded<v1::DrainRequest>(DrainRequest{}), "");
  EXPECT_EQ(Encoded<v1::DrainRequest>(DrainRequest{absl::Milliseconds(1500)}),
            "timeout_duration { seconds: 1 nanos: 500000000 }");
  EXPECT_EQ(Encoded<v1::DrainRequest>(DrainRequest{absl::Milliseconds(-1500)}),
            "timeout_duration { seconds: -1 nanos: -500000000 }");
}

}  // namespace
}  // namespace winnow::client
