// The client library and a winnow-server process together: every call, on values that a reader can
// check by hand, and what happens to calls when servers end and come back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "server/app/listener.h"
#include "tests/integration/server_process.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/default_target.h"
#include "winnow/kernels/limits.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::winnow::testing::FailsWith;
using ::winnow::testing::ServerProcess;
using ::winnow::testing::StatusIs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class RealServerTest : public ::testing::Test {
 protected:
  Client Connect(const std::string& target) const {
    return *Client::Create({.target = target, .timeout = absl::Seconds(60)});
  }

  // A row of 20 scores in three blocks of 8: 9 at position 3, 8 at position 17.
  RealServerTest() : scores_(20, 0.25f), client_(Connect(server_.unix_target())) {
    scores_[3] = 9.0f;
    scores_[17] = 8.0f;
  }

  ServerProcess server_;
  std::vector<float> scores_;
  const std::vector<int32_t> lengths_ = {20};
  const std::vector<int32_t> pages_ = {5, 1, 7};  // of 8 positions each
  const Client client_;
};

TEST(DefaultTargetTest, ClientAndServerMeetAtTheSamePlace) {
  for (const char* folder : {"/run/user/7", "relative", ""}) {
    setenv("XDG_RUNTIME_DIR", folder, 1);
    EXPECT_EQ(server::DefaultListener(), DefaultSocketTarget()) << folder;
  }
}

TEST_F(RealServerTest, TopKGivesIndicesSlotsAndValues) {
  const auto result =
      client_.TopK({.scores = Float32Matrix(scores_.data(), 1, 20),
                    .lengths = Int32Column(lengths_),
                    .k = 2,
                    .page_table = PageTableView{Int32Matrix(pages_.data(), 1, 3), 8},
                    .order = Order::kScore,
                    .slots = Placement::kInline,
                    .values = Placement::kInline});
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.row<int32_t>(0), ElementsAre(3, 17));
  EXPECT_THAT(result->slots.row<int32_t>(0), ElementsAre(5 * 8 + 3, 7 * 8 + 1));
  EXPECT_THAT(result->values.row<float>(0), ElementsAre(9.0f, 8.0f));
  EXPECT_EQ(result->timing.batch_requests, 1);
}

TEST_F(RealServerTest, StridedBfloat16RowsAreSelectedToo) {
  // Two rows of three scores in rows of five: 1, 3, 2 and 2, 1, 4. 0x7f80 is +inf, not part of a
  // row.
  const std::vector<uint16_t> bits = {0x3f80, 0x4040, 0x4000, 0x7f80, 0x7f80,
                                      0x4000, 0x3f80, 0x4080, 0x7f80, 0x7f80};
  const auto result = client_.TopK({.scores = Bfloat16Matrix(bits.data(), 2, 3, 5),
                                    .lengths = Int32Column({3, 3}),
                                    .k = 1,
                                    .values = Placement::kInline});
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.elements<int32_t>(), ElementsAre(1, 2));
  EXPECT_THAT(result->values.elements<uint16_t>(), ElementsAre(0x4040, 0x4080));
}

TEST_F(RealServerTest, PlanTopKTellsItsThreshold) {
  const auto result = client_.PlanTopK({.lengths = Int32Column({10, 5000, -1}),
                                        .columns = 8192,
                                        .k = 512,
                                        .static_threshold = 100,
                                        .list_pooled_rows = true});
  ASSERT_OK(result);
  EXPECT_EQ(result->negative_rows, 1);
  if (result->reason == PlanReason::kNoPool) {  // a machine of one core
    EXPECT_EQ(result->effective_threshold, std::numeric_limits<int32_t>::max());
    EXPECT_FALSE(result->written);
  } else {
    EXPECT_EQ(result->reason, PlanReason::kAsRequested);
    EXPECT_EQ(result->effective_threshold, 100);
    EXPECT_TRUE(result->written);
    EXPECT_THAT(result->pooled_rows, ElementsAre(1));
  }
}

TEST_F(RealServerTest, BlockAmaxGivesKeysAndCounts) {
  const auto result = client_.BlockAmax({.scores = Float32Matrix(scores_.data(), 1, 20),
                                         .lengths = Int32Column(lengths_),
                                         .block_counts = Placement::kInline});
  ASSERT_OK(result);
  EXPECT_THAT(result->keys.row<float>(0), ElementsAre(9.0f, 0.25f, kInfinity));
  EXPECT_THAT(result->block_counts.elements<int32_t>(), ElementsAre(3));
}

TEST_F(RealServerTest, SortCandidateBlocksGivesAscendingIds) {
  const std::vector<int32_t> blocks = {3, -1, 0, 3};
  const auto result = client_.SortCandidateBlocks({.blocks = Int32Matrix(blocks.data(), 1, 4),
                                                   .lengths = Int32Column({100}),
                                                   .candidate_lengths = Placement::kInline});
  ASSERT_OK(result);
  EXPECT_THAT(result->blocks.row<int32_t>(0), ElementsAre(0, 3, kPaddingBlock, kPaddingBlock));
  EXPECT_THAT(result->candidate_lengths.elements<int32_t>(), ElementsAre(8 + 99 % 8 + 1));
}

TEST_F(RealServerTest, PublishedCandidatesCanBeConsumed) {
  const auto published =
      client_.PublishCandidates({.scores = Float32Matrix(scores_.data(), 1, 20),
                                 .lengths = Int32Column(lengths_),
                                 .page_table = PageTableView{Int32Matrix(pages_.data(), 1, 3), 8},
                                 .k = 2,
                                 .k_blocks = 2,
                                 .order = Order::kPosition});
  ASSERT_OK(published);
  EXPECT_THAT(published->slots.row<int32_t>(0), ElementsAre(5 * 8 + 3, 7 * 8 + 1));
  EXPECT_THAT(published->blocks.row<int32_t>(0), ElementsAre(0, 2));
  EXPECT_THAT(published->block_slots.row<int32_t>(0), ElementsAre(5, 7));
  EXPECT_THAT(published->candidate_lengths.elements<int32_t>(), ElementsAre(12));

  std::vector<float> candidates(16, 0.0f);
  candidates[2] = 1.0f;
  candidates[9] = 2.0f;
  candidates[12] = 5.0f;  // past the candidate length
  const auto consumed =
      client_.ConsumeCandidates({.scores = Float32Matrix(candidates.data(), 1, 16),
                                 .candidate_lengths = published->candidate_lengths,
                                 .block_slots = published->block_slots,
                                 .k = 2,
                                 .order = Order::kScore,
                                 .indices = Placement::kInline});
  ASSERT_OK(consumed);
  EXPECT_THAT(consumed->indices.row<int32_t>(0), ElementsAre(9, 2));
  EXPECT_THAT(consumed->slots.row<int32_t>(0), ElementsAre(7 * 8 + 1, 5 * 8 + 2));
}

TEST_F(RealServerTest, AChainOfStepsKeepsItsMiddleAtTheServer) {
  ExecuteBuilder chain;
  const Step keys = chain.BlockAmax({.scores = Float32Matrix(scores_.data(), 1, 20),
                                     .lengths = Int32Column(lengths_),
                                     .keys = Placement::kKeep,
                                     .block_counts = Placement::kKeep});
  const Step top = chain.TopK({.scores = keys.Output(OutputName::kKeys),
                               .lengths = keys.Output(OutputName::kBlockCounts),
                               .k = 2,
                               .indices = Placement::kKeep});
  chain.SortCandidateBlocks(
      {.blocks = top.Output(OutputName::kIndices), .lengths = Int32Column(lengths_)});
  const auto result = client_.Execute(chain.request());
  ASSERT_OK(result);
  ASSERT_EQ(result->steps.size(), 3u);
  EXPECT_TRUE(result->steps[0].outputs.empty());
  const Matrix* blocks = result->steps[2].Find(OutputName::kBlocks);
  ASSERT_NE(blocks, nullptr);
  EXPECT_THAT(blocks->row<int32_t>(0), ElementsAre(0, 2));
}

TEST_F(RealServerTest, ErrorsCarryTheServersReasons) {
  const TopKRequest bad = {
      .scores = Float32Matrix(scores_.data(), 1, 20), .lengths = Int32Column(lengths_), .k = 4096};
  const auto result = client_.TopK(bad);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4096")));
  EXPECT_THAT(result, FailsWith(ErrorReason::kKOutOfRange, "step.k"));
  EXPECT_EQ(GetErrorInfo(result.status())->limit, "1 to 2048");
  EXPECT_EQ(client_.AsyncTopK(bad).Get().status(), result.status());

  TopKRequest too_long = bad;
  too_long.k = 1;
  const std::vector<int32_t> beyond = {21};
  too_long.lengths = Int32Column(beyond);
  const auto fault = client_.TopK(too_long);
  ASSERT_TRUE(HasReason(fault.status(), ErrorReason::kLengthOutOfRange)) << fault.status();
  EXPECT_EQ(GetErrorInfo(fault.status())->row, 0);
}

TEST_F(RealServerTest, TheServerTellsAboutItself) {
  ASSERT_OK(client_.TopK(
      {.scores = Float32Matrix(scores_.data(), 1, 20), .lengths = Int32Column(lengths_), .k = 2}));
  const auto info = client_.GetServerInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, ServerState::kServing);
  EXPECT_EQ(info->device.kind, "cpu");
  EXPECT_EQ(info->process_id, server_.pid());
  EXPECT_EQ(info->limits.max_k, kMaxK);
  const auto stats = client_.GetStats();
  ASSERT_OK(stats);
  EXPECT_EQ(stats->launched_requests, 1);
  EXPECT_EQ(stats->launched_rows, 1);
  ASSERT_OK(client_.Health());
  EXPECT_EQ(*client_.Health(), HealthStatus::kServing);
  EXPECT_EQ(*client_.Health("winnow.v1.IndexerService"), HealthStatus::kServing);
  EXPECT_EQ(*client_.Health("no.such.Service"), HealthStatus::kServiceUnknown);
  EXPECT_THAT(client_.ProbeOccupancy({8, 2}),
              StatusIs(absl::StatusCode::kUnimplemented, ::testing::_));
}

TEST_F(RealServerTest, TcpServesTheSame) {
  const auto result = Connect(server_.tcp_target())
                          .TopK({.scores = Float32Matrix(scores_.data(), 1, 20),
                                 .lengths = Int32Column(lengths_),
                                 .k = 1});
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.elements<int32_t>(), ElementsAre(3));
}

TEST_F(RealServerTest, ManyCallsInFlightEachGetTheirOwnResult) {
  constexpr int kCalls = 300;
  absl::BlockingCounter open(kCalls);
  std::atomic<int> right = 0;
  for (int32_t call = 0; call < kCalls; ++call) {
    std::vector<float> mine(kCalls, 0.0f);
    mine[call] = 1.0f;
    client_
        .AsyncTopK({.scores = Float32Matrix(mine.data(), 1, kCalls),
                    .lengths = Int32Column({kCalls}),
                    .k = 1})
        .Then([&, call](const absl::StatusOr<TopKResult>& result) {
          if (result.ok() && result->indices.elements<int32_t>()[0] == call) ++right;
          open.DecrementCount();
        });
  }
  open.Wait();
  EXPECT_EQ(right, kCalls);
}

TEST_F(RealServerTest, ADrainEndsTheServerWithItsWorkDone) {
  ASSERT_OK(client_.Drain());
  EXPECT_EQ(server_.AwaitExit(), 0);
  const auto after = client_.TopK({}, {.retry = RetryPolicy::Never()});
  EXPECT_THAT(after, StatusIs(absl::StatusCode::kUnavailable, HasSubstr(server_.unix_target())));
}

TEST_F(RealServerTest, CallsSurviveAServerThatIsKilledAndReplaced) {
  const TopKRequest request = {
      .scores = Float32Matrix(scores_.data(), 1, 20), .lengths = Int32Column(lengths_), .k = 1};
  ASSERT_OK(client_.TopK(request));
  server_.Signal(SIGKILL);
  server_.AwaitExit();
  Future<TopKResult> pending =
      client_.AsyncTopK(request, {.retry = RetryPolicy{.max_attempts = 1000}});
  ServerProcess replacement({.socket_path = server_.socket_path()});
  ASSERT_TRUE(replacement.running()) << replacement.log();
  const auto result = std::move(pending).Get();
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.elements<int32_t>(), ElementsAre(3));
}

}  // namespace
}  // namespace winnow::client
