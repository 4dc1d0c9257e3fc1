#include "client/src/result_decoding.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::winnow::testing::StatusIs;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// An int32 output of one row and one column that holds `value`, below 128.
std::string Output(const std::string& name, char value) {
  return "outputs { name: OUTPUT_NAME_" + name +
         " tensor { data_type: DATA_TYPE_INT32 row_count: 1 column_count: 1 inline_data: \"" +
         value + "\\000\\000\\000\" } }";
}

TEST(ResultDecodingTest, TopKFindsEachOutputItsCountsAndTimes) {
  auto message = Parse<v1::TopKResponse>(
      "result { " + Output("INDICES", 'a') + Output("SLOTS", 'b') + Output("VALUES", 'c') +
      " negative_row_count: 4 routes { identity_row_count: 1 single_block_row_count: 2"
      " streaming_row_count: 3 cluster_row_count: 4 split_row_count: 5 } }"
      " timing { queue_duration { nanos: 1 } launch_duration { nanos: 2 } device_duration { nanos: "
      "3 }"
      " total_duration { seconds: 1 nanos: 4 } batch_request_count: 6 batch_row_count: 7 }");
  TopKResult result;
  ASSERT_OK(Decode(message, result));
  EXPECT_THAT(result.indices.elements<int32_t>(), ElementsAre('a'));
  EXPECT_THAT(result.slots.elements<int32_t>(), ElementsAre('b'));
  EXPECT_THAT(result.values.elements<int32_t>(), ElementsAre('c'));
  EXPECT_EQ(result.negative_rows, 4);
  EXPECT_EQ(result.routes.identity, 1);
  EXPECT_EQ(result.routes.single_block, 2);
  EXPECT_EQ(result.routes.streaming, 3);
  EXPECT_EQ(result.routes.cluster, 4);
  EXPECT_EQ(result.routes.split, 5);
  EXPECT_EQ(result.timing.queue, absl::Nanoseconds(1));
  EXPECT_EQ(result.timing.launch, absl::Nanoseconds(2));
  EXPECT_EQ(result.timing.device, absl::Nanoseconds(3));
  EXPECT_EQ(result.timing.total, absl::Seconds(1) + absl::Nanoseconds(4));
  EXPECT_EQ(result.timing.batch_requests, 6);
  EXPECT_EQ(result.timing.batch_rows, 7);
}

TEST(ResultDecodingTest, AnOutputThatWasNotSentIsEmpty) {
  auto message = Parse<v1::TopKResponse>("result { " + Output("SLOTS", 'b') + " }");
  TopKResult result;
  ASSERT_OK(Decode(message, result));
  EXPECT_TRUE(result.indices.empty());
  EXPECT_FALSE(result.slots.empty());
}

TEST(ResultDecodingTest, TheOtherOperationsFindTheirOutputs) {
  auto amax = Parse<v1::BlockAmaxResponse>(
      "result { " + Output("KEYS", 'a') + Output("BLOCK_COUNTS", 'b') + " negative_row_count: 1 }");
  BlockAmaxResult amax_result;
  ASSERT_OK(Decode(amax, amax_result));
  EXPECT_THAT(amax_result.keys.elements<int32_t>(), ElementsAre('a'));
  EXPECT_THAT(amax_result.block_counts.elements<int32_t>(), ElementsAre('b'));
  EXPECT_EQ(amax_result.negative_rows, 1);

  auto sort = Parse<v1::SortCandidateBlocksResponse>(
      "result { " + Output("BLOCKS", 'a') + Output("BLOCK_SLOTS", 'b') +
      Output("CANDIDATE_LENGTHS", 'c') + " negative_row_count: 1 }");
  SortCandidateBlocksResult sort_result;
  ASSERT_OK(Decode(sort, sort_result));
  EXPECT_THAT(sort_result.blocks.elements<int32_t>(), ElementsAre('a'));
  EXPECT_THAT(sort_result.block_slots.elements<int32_t>(), ElementsAre('b'));
  EXPECT_THAT(sort_result.candidate_lengths.elements<int32_t>(), ElementsAre('c'));
  EXPECT_EQ(sort_result.negative_rows, 1);

  auto publish = Parse<v1::PublishCandidatesResponse>(
      "result { " + Output("INDICES", 'a') + Output("SLOTS", 'b') + Output("BLOCKS", 'c') +
      Output("BLOCK_SLOTS", 'd') + Output("CANDIDATE_LENGTHS", 'e') +
      " negative_row_count: 1 routes { split_row_count: 2 } }");
  PublishCandidatesResult publish_result;
  ASSERT_OK(Decode(publish, publish_result));
  EXPECT_THAT(publish_result.indices.elements<int32_t>(), ElementsAre('a'));
  EXPECT_THAT(publish_result.slots.elements<int32_t>(), ElementsAre('b'));
  EXPECT_THAT(publish_result.blocks.elements<int32_t>(), ElementsAre('c'));
  EXPECT_THAT(publish_result.block_slots.elements<int32_t>(), ElementsAre('d'));
  EXPECT_THAT(publish_result.candidate_lengths.elements<int32_t>(), ElementsAre('e'));
  EXPECT_EQ(publish_result.negative_rows, 1);
  EXPECT_EQ(publish_result.routes.split, 2);
}

TEST(ResultDecodingTest, ExecuteKeepsTheStepsInOrder) {
  auto message = Parse<v1::ExecuteResponse>("results { negative_row_count: 1 } results { " +
                                            Output("BLOCKS", 'x') + " }");
  ExecuteResult result;
  ASSERT_OK(Decode(message, result));
  ASSERT_EQ(result.steps.size(), 2u);
  EXPECT_EQ(result.steps[0].negative_rows, 1);
  EXPECT_EQ(result.steps[0].Find(OutputName::kBlocks), nullptr);
  ASSERT_NE(result.steps[1].Find(OutputName::kBlocks), nullptr);
  EXPECT_THAT(result.steps[1].Find(OutputName::kBlocks)->elements<int32_t>(), ElementsAre('x'));
}

TEST(ResultDecodingTest, APlanKeepsItsReasonAndRows) {
  auto message = Parse<v1::PlanTopKResponse>(
      "effective_threshold: 9 reason: PLAN_REASON_NO_POOL written: true pool_width: 2"
      " cluster_size: 3 pooled_rows: [4, 5] negative_row_count: 6 routes { cluster_row_count: 7 }");
  PlanTopKResult result;
  ASSERT_OK(Decode(message, result));
  EXPECT_EQ(result.effective_threshold, 9);
  EXPECT_EQ(result.reason, PlanReason::kNoPool);
  EXPECT_TRUE(result.written);
  EXPECT_EQ(result.pool_width, 2);
  EXPECT_EQ(result.cluster_size, 3);
  EXPECT_THAT(result.pooled_rows, ElementsAre(4, 5));
  EXPECT_EQ(result.negative_rows, 6);
  EXPECT_EQ(result.routes.cluster, 7);
}

TEST(ResultDecodingTest, AReplyWhoseBytesDoNotFitItsShapeIsInternal) {
  auto message = Parse<v1::TopKResponse>(
      "result { outputs { name: OUTPUT_NAME_SLOTS tensor { data_type: DATA_TYPE_INT32 row_count: 2"
      " column_count: 3 inline_data: \"abcd\" } } }");
  TopKResult result;
  EXPECT_THAT(Decode(message, result),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("the server's reply is malformed: slots: bytes is 4 bytes")));
}

TEST(ResultDecodingTest, ServerInfoKeepsEveryField) {
  auto message = Parse<v1::GetServerInfoResponse>(
      "version: '1.2.3' state: SERVER_STATE_DRAINING backend_reason: 'why' device { kind: 'cuda'"
      " name: 'H200' ordinal: 1 multiprocessor_count: 132 compute_capability: '9.0'"
      " memory_bytes: 5 max_cluster_size: 16 pool_width: 8 pool_note: 'note'"
      " instruction_set: 'avx2' } limits { max_k: 1 max_row_count: 2 max_column_count: 3"
      " max_inline_bytes: 4 max_step_count: 5 max_queued_request_count: 6 max_queued_bytes: 7 }"
      " listeners: 'unix:/a' listeners: '[::1]:7' start_time { seconds: 10 nanos: 20 }"
      " process_id: 99");
  ServerInfo info;
  ASSERT_OK(Decode(message, info));
  EXPECT_EQ(info.version, "1.2.3");
  EXPECT_EQ(info.state, ServerState::kDraining);
  EXPECT_EQ(Name(info.state), "draining");
  EXPECT_EQ(info.backend_reason, "why");
  EXPECT_EQ(info.device.kind, "cuda");
  EXPECT_EQ(info.device.name, "H200");
  EXPECT_EQ(info.device.ordinal, 1);
  EXPECT_EQ(info.device.multiprocessors, 132);
  EXPECT_EQ(info.device.compute_capability, "9.0");
  EXPECT_EQ(info.device.memory_bytes, 5);
  EXPECT_EQ(info.device.max_cluster_size, 16);
  EXPECT_EQ(info.device.pool_width, 8);
  EXPECT_EQ(info.device.pool_note, "note");
  EXPECT_EQ(info.device.instruction_set, "avx2");
  EXPECT_EQ(info.limits.max_k, 1);
  EXPECT_EQ(info.limits.max_rows, 2);
  EXPECT_EQ(info.limits.max_columns, 3);
  EXPECT_EQ(info.limits.max_inline_bytes, 4);
  EXPECT_EQ(info.limits.max_steps, 5);
  EXPECT_EQ(info.limits.max_queued_requests, 6);
  EXPECT_EQ(info.limits.max_queued_bytes, 7);
  EXPECT_THAT(info.listeners, ElementsAre("unix:/a", "[::1]:7"));
  EXPECT_EQ(info.start_time, absl::FromUnixSeconds(10) + absl::Nanoseconds(20));
  EXPECT_EQ(info.process_id, 99);
}

TEST(ResultDecodingTest, StatsKeepEveryField) {
  auto message = Parse<v1::GetStatsResponse>(
      "uptime_duration { seconds: 1 } rpcs { method: 'a/B' ok_count: 2 error_count: 3"
      " median_duration { nanos: 4 } p99_duration { nanos: 5 } } queued_request_count: 6"
      " running_request_count: 7 queued_bytes: 8 launch_count: 9 launched_request_count: 10"
      " launched_row_count: 11 rejected_request_count: 12 expired_request_count: 13"
      " cancelled_request_count: 14 fault_count: 15 routes { split_row_count: 16 }"
      " device_busy_duration { seconds: 17 } resident_bytes: 18");
  ServerStats stats;
  ASSERT_OK(Decode(message, stats));
  EXPECT_EQ(stats.uptime, absl::Seconds(1));
  ASSERT_EQ(stats.rpcs.size(), 1u);
  EXPECT_EQ(stats.rpcs[0].method, "a/B");
  EXPECT_EQ(stats.rpcs[0].ok_count, 2);
  EXPECT_EQ(stats.rpcs[0].error_count, 3);
  EXPECT_EQ(stats.rpcs[0].median, absl::Nanoseconds(4));
  EXPECT_EQ(stats.rpcs[0].p99, absl::Nanoseconds(5));
  EXPECT_EQ(stats.queued_requests, 6);
  EXPECT_EQ(stats.running_requests, 7);
  EXPECT_EQ(stats.queued_bytes, 8);
  EXPECT_EQ(stats.launches, 9);
  EXPECT_EQ(stats.launched_requests, 10);
  EXPECT_EQ(stats.launched_rows, 11);
  EXPECT_EQ(stats.rejected_requests, 12);
  EXPECT_EQ(stats.expired_requests, 13);
  EXPECT_EQ(stats.cancelled_requests, 14);
  EXPECT_EQ(stats.faults, 15);
  EXPECT_EQ(stats.routes.split, 16);
  EXPECT_EQ(stats.device_busy, absl::Seconds(17));
  EXPECT_EQ(stats.resident_bytes, 18);
}

}  // namespace
}  // namespace winnow::client
