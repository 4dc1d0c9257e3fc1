// All operations through a real server: results equal the reference, alone, in chains and from many
// clients at once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/integration/random_requests.h"
#include "tests/integration/server_process.h"
#include "tests/testing/random.h"
#include "tests/testing/reference_results.h"
#include "tests/testing/requests.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/test_data.h"

namespace winnow::testing {
namespace {

class OperationsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }
  // For expectations on several threads.
  static std::string Check(v1::IndexerService::Stub& indexer, const RandomCase& one) {
    Outputs outputs;
    const grpc::Status status = Call(indexer, one.request, outputs);
    return status.ok() ? Difference(one.expected, outputs) : status.error_message();
  }
  ServerProcess server_;
};

TEST_F(OperationsTest, RandomRequestsGiveWhatTheReferenceGives) {
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  const auto indexer = server_.Indexer();
  for (int i = 0; i < 400; ++i) {
    const RandomCase one = MakeRandomCase(random, i % 8 == 0 ? 20'000 : 700);
    ASSERT_EQ(Check(*indexer, one), "") << "case " << i;
  }
}

TEST_F(OperationsTest, TcpGivesTheSameAsTheUnixSocket) {
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  const auto indexer = v1::IndexerService::NewStub(server_.Connect(server_.tcp_target()));
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(Check(*indexer, MakeRandomCase(random, 2000)), "") << "case " << i;
  }
}

TEST_F(OperationsTest, ManyClientsAtOnceGetWhatEachWouldGetAlone) {
  constexpr int kClients = 12;
  constexpr int kCallsOfEach = 60;
  const uint64_t seed = SeedFromEnvironment("WINNOW_TEST_SEED");
  std::vector<std::string> failures(kClients);
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([this, client, seed, &failure = failures[client]] {
      Random random(seed + static_cast<uint64_t>(client));
      const auto indexer = server_.Indexer();
      for (int i = 0; i < kCallsOfEach && failure.empty(); ++i) {
        failure = Check(*indexer, MakeRandomCase(random, i % 10 == 0 ? 20'000 : 500));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_THAT(failures, ::testing::Each(""));
  v1::GetStatsResponse stats;
  ASSERT_TRUE(server_.Admin()->GetStats(Patient().get(), {}, &stats).ok());
  EXPECT_EQ(stats.launched_request_count(), kClients * kCallsOfEach);
  EXPECT_EQ(stats.queued_request_count(), 0);
  EXPECT_EQ(stats.queued_bytes(), 0);
}

TEST_F(OperationsTest, WithoutTheDeterministicOptionTheValuesAreStillTheLargest) {
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  const auto indexer = server_.Indexer();
  for (int i = 0; i < 50; ++i) {
    v1::TopKRequest request = MakeRandomTopK(random, 3000);
    auto& step = *request.mutable_step();
    step.set_order(v1::SELECTION_ORDER_SCORE);
    step.clear_slots();
    step.clear_page_table();
    step.clear_indices();
    WantInline(step.mutable_values());
    const auto expected = ReferenceOf(step);
    ASSERT_TRUE(expected.ok()) << expected.status();
    step.set_deterministic(false);
    Outputs outputs;
    ASSERT_TRUE(Call(*indexer, request, outputs).ok());
    // -0 and +0 are equal and NaN has many forms, so values are compared as numbers.
    const auto& want = expected->at(0).tensor();
    const auto& have = outputs.at(0).tensor();
    ASSERT_EQ(want.inline_data().size(), have.inline_data().size());
    const auto number = [&want](const v1::Tensor& tensor, size_t at) {
      if (want.data_type() == v1::DATA_TYPE_FLOAT32) return ElementsOf<float>(tensor)[at];
      const uint32_t bits = uint32_t{ElementsOf<uint16_t>(tensor)[at]} << 16;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    };
    const size_t count = std::min<size_t>(200, want.row_count() * want.column_count());
    for (size_t at = 0; at < count; ++at) {
      EXPECT_THAT(number(have, at), ::testing::NanSensitiveFloatEq(number(want, at)));
    }
  }
}

TEST_F(OperationsTest, RealRowsAreSelectedExactly) {
  const auto rows = LoadRealRows();
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto indexer = server_.Indexer();
  for (const std::vector<float>& scores : rows->float32) {
    v1::TopKRequest request;
    auto& step = *request.mutable_step();
    *step.mutable_scores() = FloatTensor(1, static_cast<int64_t>(scores.size()), scores);
    *step.mutable_lengths() = Int32Vector({static_cast<int32_t>(scores.size())});
    step.set_k(512);
    step.set_deterministic(true);
    WantInline(step.mutable_indices());
    const auto expected = ReferenceOf(step);
    ASSERT_TRUE(expected.ok()) << expected.status();
    Outputs outputs;
    const grpc::Status status = Call(*indexer, request, outputs);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(Difference(*expected, outputs), "") << scores.size() << " scores";
  }
}

TEST_F(OperationsTest, RequestsOfNoRowsAndOfEmptyRowsAreServed) {
  const auto indexer = server_.Indexer();
  v1::TopKRequest request = GoodPagedTopK();
  *request.mutable_step()->mutable_lengths() = Int32Vector({0, -4});
  v1::TopKResponse response;
  ASSERT_TRUE(indexer->TopK(Patient().get(), request, &response).ok());
  EXPECT_EQ(response.result().negative_row_count(), 1);
  EXPECT_EQ(ElementsOf<int32_t>(response.result().outputs(0).tensor()),
            std::vector<int32_t>(6, -1));

  auto& step = *request.mutable_step();
  *step.mutable_scores() = FloatTensor(2, 0, {});
  response.Clear();
  grpc::Status status = indexer->TopK(Patient().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(ElementsOf<int32_t>(response.result().outputs(0).tensor()),
            std::vector<int32_t>(6, -1));

  *step.mutable_scores() = FloatTensor(0, 8, {});
  *step.mutable_lengths() = Int32Vector({});
  response.Clear();
  status = indexer->TopK(Patient().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.result().outputs(0).tensor().row_count(), 0);
  EXPECT_EQ(response.result().outputs(0).tensor().inline_data(), "");
}

// The publish chain as the steps that it is made of.
v1::ExecuteRequest PublishAsSteps(const v1::PublishCandidatesRequest& publish) {
  const int64_t rows = publish.scores().row_count();
  const int64_t key_columns = (publish.scores().column_count() + 7) / 8;
  v1::ExecuteRequest request;
  auto& tokens = *request.add_steps()->mutable_top_k();
  *tokens.mutable_scores() = publish.scores();
  *tokens.mutable_lengths() = publish.lengths();
  *tokens.mutable_page_table() = publish.page_table();
  tokens.set_k(publish.k());
  tokens.set_order(publish.order());
  tokens.set_deterministic(true);
  WantInline(tokens.mutable_slots());
  auto& keys = *request.add_steps()->mutable_block_amax();
  *keys.mutable_scores() = publish.scores();
  *keys.mutable_lengths() = publish.lengths();
  keys.mutable_keys()->set_placement(v1::OUTPUT_PLACEMENT_KEEP);
  keys.mutable_block_counts()->set_placement(v1::OUTPUT_PLACEMENT_KEEP);
  auto& blocks = *request.add_steps()->mutable_top_k();
  *blocks.mutable_scores() =
      StepOutputTensor(v1::DATA_TYPE_FLOAT32, rows, key_columns, 1, v1::OUTPUT_NAME_KEYS);
  *blocks.mutable_lengths() =
      StepOutputTensor(v1::DATA_TYPE_INT32, rows, 1, 1, v1::OUTPUT_NAME_BLOCK_COUNTS);
  blocks.set_k(publish.k_blocks());
  blocks.set_deterministic(true);
  blocks.mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_KEEP);
  auto& sorted = *request.add_steps()->mutable_sort_candidate_blocks();
  *sorted.mutable_blocks() =
      StepOutputTensor(v1::DATA_TYPE_INT32, rows, publish.k_blocks(), 2, v1::OUTPUT_NAME_INDICES);
  *sorted.mutable_lengths() = publish.lengths();
  *sorted.mutable_page_table() = publish.page_table();
  WantInline(sorted.mutable_out_blocks());
  WantInline(sorted.mutable_block_slots());
  WantInline(sorted.mutable_candidate_lengths());
  return request;
}

TEST_F(OperationsTest, TheStepsOfPublishGiveWhatPublishGives) {
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  const auto indexer = server_.Indexer();
  for (int i = 0; i < 60; ++i) {
    const v1::PublishCandidatesRequest publish =
        MakeRandomPublish(random, i % 6 == 0 ? 30'000 : 900);
    v1::PublishCandidatesResponse fused;
    grpc::Status status = indexer->PublishCandidates(Patient().get(), publish, &fused);
    ASSERT_TRUE(status.ok()) << status.error_message();
    v1::ExecuteResponse steps;
    status = indexer->Execute(Patient().get(), PublishAsSteps(publish), &steps);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(steps.results_size(), 4);
    EXPECT_EQ(steps.results(1).outputs_size(), 0);
    EXPECT_EQ(steps.results(2).outputs_size(), 0);
    const auto same = [&](int step, v1::OutputName name) {
      EXPECT_EQ(FindOutput(steps.results(step).outputs(), name).SerializeAsString(),
                FindOutput(fused.result().outputs(), name).SerializeAsString())
          << "case " << i << ", " << v1::OutputName_Name(name);
    };
    same(0, v1::OUTPUT_NAME_SLOTS);
    same(3, v1::OUTPUT_NAME_BLOCKS);
    same(3, v1::OUTPUT_NAME_BLOCK_SLOTS);
    same(3, v1::OUTPUT_NAME_CANDIDATE_LENGTHS);
  }
}

TEST_F(OperationsTest, WhatPublishGivesConsumeTakes) {
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  const auto indexer = server_.Indexer();
  for (int i = 0; i < 20; ++i) {
    v1::PublishCandidatesRequest publish = MakeRandomPublish(random, 5000);
    v1::PublishCandidatesResponse published;
    ASSERT_TRUE(indexer->PublishCandidates(Patient().get(), publish, &published).ok());
    const auto& outputs = published.result().outputs();
    v1::ConsumeCandidatesRequest consume;
    *consume.mutable_candidate_lengths() = FindOutput(outputs, v1::OUTPUT_NAME_CANDIDATE_LENGTHS);
    *consume.mutable_block_slots() = FindOutput(outputs, v1::OUTPUT_NAME_BLOCK_SLOTS);
    const int64_t rows = publish.scores().row_count();
    const int64_t columns = 8 * consume.block_slots().column_count();
    *consume.mutable_scores() =
        FloatTensor(rows, columns, MakeScores(Pattern::kNormal, rows * columns, random));
    consume.set_k(64);
    consume.set_deterministic(true);
    WantInline(consume.mutable_slots());
    const auto expected = ReferenceOf(consume);
    ASSERT_TRUE(expected.ok()) << expected.status();
    Outputs actual;
    const grpc::Status status = Call(*indexer, consume, actual);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(Difference(*expected, actual), "") << "case " << i;
  }
}

TEST_F(OperationsTest, APlanCountsEachRowOnce) {
  v1::PlanTopKResponse plan;
  const grpc::Status status = server_.Indexer()->PlanTopK(Patient().get(), GoodPlan(), &plan);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto& routes = plan.routes();
  EXPECT_EQ(routes.identity_row_count() + routes.single_block_row_count() +
                routes.streaming_row_count() + routes.cluster_row_count() +
                routes.split_row_count(),
            3);
  EXPECT_EQ(plan.negative_row_count(), 1);
  if (plan.reason() == v1::PLAN_REASON_AS_REQUESTED) {
    EXPECT_EQ(plan.effective_threshold(), 1000);
    EXPECT_THAT(plan.pooled_rows(), ::testing::ElementsAre(1));
    EXPECT_TRUE(plan.written());
  } else {
    EXPECT_EQ(plan.reason(), v1::PLAN_REASON_NO_POOL);
    EXPECT_FALSE(plan.written());
  }
}

TEST_F(OperationsTest, TimingAddsUp) {
  v1::TopKResponse response;
  ASSERT_TRUE(server_.Indexer()->TopK(Patient().get(), GoodTopK(), &response).ok());
  const auto nanos = [](const google::protobuf::Duration& duration) {
    return duration.seconds() * 1'000'000'000 + duration.nanos();
  };
  const v1::Timing& timing = response.timing();
  EXPECT_EQ(timing.batch_request_count(), 1);
  EXPECT_EQ(timing.batch_row_count(), 2);
  EXPECT_GT(nanos(timing.total_duration()), 0);
  EXPECT_LE(nanos(timing.queue_duration()) + nanos(timing.device_duration()),
            nanos(timing.total_duration()) + 1000);
  EXPECT_EQ(response.result().routes().identity_row_count() +
                response.result().routes().single_block_row_count() +
                response.result().routes().streaming_row_count() +
                response.result().routes().split_row_count(),
            2);
}

}  // namespace
}  // namespace winnow::testing
