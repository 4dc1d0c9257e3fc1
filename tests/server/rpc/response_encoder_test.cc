#include "server/rpc/response_encoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace winnow::server {
namespace {

TEST(ResponseEncoderTest, BytesOfOutputsAreMovedIntoTheReply) {
  WorkItem item;
  item.steps.emplace_back(TopKStep{});
  StepResult& result = item.results.emplace_back();
  result.outputs.push_back({OutputName::kSlots, DType::kInt32, 3, 4, std::string(48, 'x')});
  const char* bytes = result.outputs[0].data.data();
  result.negative_rows = 2;
  result.route_rows[static_cast<int>(Route::kSplit)] = 7;
  v1::TopKResponse response;
  EncodeTopK(item, response);
  const auto& output = response.result().outputs(0);
  EXPECT_EQ(output.tensor().inline_data().data(), bytes);
  EXPECT_EQ(output.name(), v1::OUTPUT_NAME_SLOTS);
  EXPECT_EQ(output.tensor().row_count(), 3);
  EXPECT_EQ(output.tensor().column_count(), 4);
  EXPECT_EQ(response.result().negative_row_count(), 2);
  EXPECT_EQ(response.result().routes().split_row_count(), 7);
}

TEST(ResponseEncoderTest, RoutesAreThereForSelectionsOnly) {
  WorkItem item;
  item.steps.emplace_back(BlockAmaxStep{});
  item.results.resize(1);
  v1::BlockAmaxResponse response;
  EncodeBlockAmax(item, response);
  EXPECT_FALSE(response.result().has_routes());
}

TEST(ResponseEncoderTest, DurationsHaveSecondsAndNanoseconds) {
  google::protobuf::Duration encoded;
  EncodeDuration(absl::Seconds(3) + absl::Nanoseconds(42), encoded);
  EXPECT_EQ(encoded.seconds(), 3);
  EXPECT_EQ(encoded.nanos(), 42);
}

TEST(ResponseEncoderTest, PooledRowsOfAPlanFollowItsLengths) {
  const PlanHeader header{.rows = 3,
                          .effective_threshold = 10,
                          .reason = static_cast<int32_t>(PlanReason::kHeuristic),
                          .pooled_row_count = 2};
  std::vector<std::byte> plan(PlanBytes(3));
  std::memcpy(plan.data(), &header, sizeof(header));
  const int32_t rows[] = {9, 50, 60, 1, 2, 0};  // three lengths, two pooled rows, one unused entry
  std::memcpy(plan.data() + sizeof(header), rows, sizeof(rows));
  v1::PlanTopKResponse response;
  EncodePlan(plan.data(), true, response);
  EXPECT_EQ(response.effective_threshold(), 10);
  EXPECT_EQ(response.reason(), v1::PLAN_REASON_HEURISTIC);
  EXPECT_TRUE(response.written());
  ASSERT_EQ(response.pooled_rows_size(), 2);
  EXPECT_EQ(response.pooled_rows(0), 1);
  EXPECT_EQ(response.pooled_rows(1), 2);
  response.Clear();
  EncodePlan(plan.data(), false, response);
  EXPECT_EQ(response.pooled_rows_size(), 0);
}

}  // namespace
}  // namespace winnow::server
