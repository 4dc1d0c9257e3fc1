#include "client/loadgen/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/testing/status_matchers.h"

namespace winnow::stress {
namespace {

using ::testing::ElementsAre;
using testing::StatusIs;

TEST(WorkloadTest, TheSameSeedSendsTheSame) {
  const std::vector<Shape> mix = {{.rows = 2, .columns = 64, .k = 8},
                                  {.operation = Operation::kBlockAmax, .columns = 32}};
  auto one = Workload::OfMix(mix, Pattern::kSpecial, 5);
  auto other = Workload::OfMix(mix, Pattern::kSpecial, 5);
  ASSERT_OK(one);
  ASSERT_OK(other);
  for (int i = 0; i < 50; ++i) {
    const Sample& a = one->Next();
    const Sample& b = other->Next();
    EXPECT_EQ(*a.scores, *b.scores);
    EXPECT_EQ(a.lengths, b.lengths);
    for (const int32_t length : a.lengths) {
      EXPECT_GE(length, 0);
      EXPECT_LE(length, a.shape.columns);
    }
  }
}

TEST(WorkloadTest, AFileThatIsMissingIsAnError) {
  EXPECT_THAT(Workload::OfMix({{.scores_path = "/none.npy"}}, Pattern::kTies, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("/none.npy")));
}

TraceEntry Entry(int64_t micros, int32_t rows, int32_t length) {
  return {.at = absl::Microseconds(micros),
          .shape = {.rows = rows, .columns = 64, .k = 8, .page_size = 8},
          .lengths = std::vector<int32_t>(static_cast<size_t>(rows), length)};
}

TEST(WorkloadTest, ATraceIsSentInItsOrderAndBeginsAgain) {
  const Trace trace{.period = absl::Microseconds(9), .entries = {Entry(0, 1, 3), Entry(4, 2, 5)}};
  auto workload = Workload::OfTrace(trace, Pattern::kUniform, 1);
  ASSERT_OK(workload);
  EXPECT_THAT(workload->arrivals(), ElementsAre(absl::ZeroDuration(), absl::Microseconds(4)));
  EXPECT_EQ(workload->period(), absl::Microseconds(9));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_THAT(workload->Next().lengths, ElementsAre(3));
    EXPECT_THAT(workload->Next().lengths, ElementsAre(5, 5));
  }
}

TEST(WorkloadTest, RequestsOfATraceShareTheirScores) {
  Trace trace;
  for (int i = 0; i < 100; ++i) trace.entries.push_back(Entry(i, 4, i % 64));
  auto workload = Workload::OfTrace(trace, Pattern::kUniform, 1);
  ASSERT_OK(workload);
  std::set<const void*> matrices, pages;
  for (int i = 0; i < 100; ++i) {
    const Sample& sample = workload->Next();
    matrices.insert(sample.scores.get());
    pages.insert(sample.pages.get());
    EXPECT_EQ(sample.scores->size(), 4u * 64 * 4);
    EXPECT_EQ(sample.pages->size(), 4u * 8);
  }
  EXPECT_EQ(matrices.size(), 2u);
  EXPECT_EQ(pages.size(), 1u);
}

TEST(WorkloadTest, ATraceWhoseScoresFillTheMemoryIsRefused) {
  Trace trace{.entries = {Entry(0, 60000, 1)}};
  trace.entries[0].shape.columns = 1 << 21;
  EXPECT_THAT(
      Workload::OfTrace(trace, Pattern::kUniform, 1),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("split the trace")));
}

}  // namespace
}  // namespace winnow::stress
