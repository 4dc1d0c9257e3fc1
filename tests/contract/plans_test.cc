// Plans: what they say, that host and device agree, and that a stale one never gives a selection.

#include <algorithm>
#include <cstring>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/status_matchers.h"

namespace winnow::contract {
namespace {

std::vector<std::byte> MakePlan(const Device& device, const PlanParams& params,
                                const std::vector<int32_t>& lengths) {
  const auto rows = static_cast<int32_t>(lengths.size());
  std::vector<std::byte> plan(PlanBytes(rows));
  EXPECT_OK(device.HostPlan(params, lengths.data(), rows, plan.data()));
  return plan;
}

PlanHeader HeaderOf(const std::vector<std::byte>& plan) {
  PlanHeader header;
  std::memcpy(&header, plan.data(), sizeof(header));
  return header;
}

std::vector<int32_t> NumbersOf(const std::vector<std::byte>& plan, int32_t first, int32_t count) {
  std::vector<int32_t> numbers(count);
  if (count == 0) return numbers;
  std::memcpy(numbers.data(), plan.data() + sizeof(PlanHeader) + first * 4, count * 4);
  return numbers;
}

std::vector<int32_t> SomeLengths(int32_t rows, testing::Random& random) {
  std::vector<int32_t> lengths(rows);
  for (int32_t& length : lengths) {
    length = static_cast<int32_t>(random.OneIn(8) ? random.Between(-4, 3) : random.Below(200000));
  }
  return lengths;
}

TEST_P(ContractTest, APlanSaysWhichRowsArePooled) {
  for (const int32_t rows : {1, 2, 31, 500}) {
    for (const int32_t threshold : {-1, 0, 1, 512, 30000, kMaxColumns}) {
      const auto lengths = SomeLengths(rows, random());
      const auto plan =
          MakePlan(device(), {.k = 512, .columns = 200000, .static_threshold = threshold}, lengths);
      const PlanHeader header = HeaderOf(plan);
      std::vector<int32_t> pooled;
      int32_t negative = 0, routed = 0;
      for (int32_t row = 0; row < rows; ++row) {
        if (lengths[row] > header.effective_threshold) pooled.push_back(row);
        negative += lengths[row] < 0;
      }
      for (const int32_t count : header.route_rows) routed += count;
      EXPECT_EQ(NumbersOf(plan, 0, rows), lengths);
      EXPECT_EQ(NumbersOf(plan, rows, header.pooled_row_count), pooled);
      EXPECT_EQ(routed, rows);
      EXPECT_EQ(header.route_rows[3] + header.route_rows[4], header.pooled_row_count);
      EXPECT_EQ(header.negative_rows, negative);
      EXPECT_EQ(header.static_threshold, threshold);
    }
  }
}

TEST_P(ContractTest, AStaticThresholdIsTakenLiterallyOrRefusedInTheOpen) {
  for (const int32_t threshold : {0, 1, 512, 30000, kMaxColumns}) {
    const auto plan =
        MakePlan(device(), {.k = 512, .columns = 200000, .static_threshold = threshold},
                 SomeLengths(40, random()));
    const PlanHeader header = HeaderOf(plan);
    if (header.reason == static_cast<int32_t>(PlanReason::kNoPool)) {
      EXPECT_EQ(header.effective_threshold, INT32_MAX);
      EXPECT_EQ(header.pooled_row_count, 0);
    } else {
      EXPECT_EQ(header.reason, static_cast<int32_t>(PlanReason::kAsRequested));
      EXPECT_EQ(header.effective_threshold, threshold);
    }
  }
}

TEST_P(ContractTest, ThePlanOfTheDeviceIsThatOfTheHost) {
  for (const int32_t rows : {1, 33, 1000, 20000}) {
    for (const int32_t threshold : {-1, 0, 4096}) {
      const PlanParams params{.k = 2048, .columns = 200000, .static_threshold = threshold};
      const auto lengths = SomeLengths(rows, random());
      MemoryImage before;
      const int64_t lengths_at = before.Put(lengths);
      const int64_t plan_at = before.Reserve(PlanBytes(rows));
      MemoryImage after = before;
      ASSERT_OK(executor().Run(after, [&](Stream& stream, std::byte* base) {
        return device().PlanTopK(stream, params, Pointer<int32_t>(base, lengths_at), rows,
                                 base + plan_at);
      }));
      const auto plan = MakePlan(device(), params, lengths);
      std::copy(plan.begin(), plan.end(), before.data() + plan_at);
      EXPECT_EQ(before.FirstDifference(after), -1) << "the plan starts at " << plan_at;
    }
  }
}

TEST_P(ContractTest, SelectionsWithAPlanAreRightForEveryThreshold) {
  const auto longest = static_cast<int32_t>(std::min<int64_t>(MaxLength(), 70000));
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t threshold : {-1, 0, 100, 512, 5000, 20000, 65535, kMaxColumns}) {
      TopKRequest request = NormalRequest({700, 9000, 0, longest, 512, 20000}, random());
      request.lengths = {700, 9000, -1, longest, 512, 20000};
      request.plan = MakePlan(device(),
                              {.dtype = dtype,
                               .k = 512,
                               .columns = longest < 20000 ? 20000 : longest,
                               .static_threshold = threshold},
                              request.lengths);
      if (longest < 20000) request.columns = 20000;
      for (const bool deterministic : {false, true}) {
        ExpectTopK({.dtype = dtype, .k = 512, .deterministic = deterministic},
                   {request, NormalRequest({3000}, random())});
      }
    }
  }
}

TEST_P(ContractTest, AStalePlanNeverGivesASelectionForTheRowsThatChanged) {
  TopKRequest request = NormalRequest({700, 9000, 300, 20000, 512}, random());
  const PlanParams params{.k = 512, .columns = 20000};
  for (const std::vector<int32_t>& planned : {std::vector<int32_t>{700, 9000, 301, 20000, 512},
                                              {0, 9000, 300, 20000, 512},
                                              {1, 2, 3, 4, 5},
                                              {700, 9000, 300, 20000, -1}}) {
    request.plan = MakePlan(device(), params, planned);
    ExpectTopK({.k = 512}, {NormalRequest({3000}, random()), request});
  }
}

TEST_P(ContractTest, APlanForOtherShapesIsStaleForEveryRow) {
  TopKRequest request = NormalRequest({700, 9000, 300, 20000, 512}, random());
  const auto lengths = request.Lengths();
  for (const PlanParams& params :
       {PlanParams{.k = 511, .columns = 20000}, PlanParams{.k = 512, .columns = 20001},
        PlanParams{.dtype = DType::kBfloat16, .k = 512, .columns = 20000}}) {
    request.plan = MakePlan(device(), params, lengths);
    ExpectTopK({.k = 512}, {request});
  }
  request.plan = MakePlan(device(), {.k = 512, .columns = 20000}, {700, 9000, 300, 20000, 512, 9});
  ExpectTopK({.k = 512}, {request});
}

TEST_P(ContractTest, BadPlanParametersAreRefused) {
  const int32_t length = 5;
  std::vector<std::byte> plan(PlanBytes(1));
  const auto refused = [&](const PlanParams& params, int32_t rows) {
    return device().HostPlan(params, &length, rows, plan.data());
  };
  using testing::FailsWith;
  EXPECT_THAT(refused({.k = 0, .columns = 5}, 1), FailsWith(ErrorReason::kKOutOfRange, "k"));
  EXPECT_THAT(refused({.k = 2049, .columns = 5}, 1), FailsWith(ErrorReason::kKOutOfRange, "k"));
  EXPECT_THAT(refused({.k = 1, .columns = 0}, 1),
              FailsWith(ErrorReason::kShapeOutOfRange, "columns"));
  EXPECT_THAT(refused({.k = 1, .columns = 5}, 0), FailsWith(ErrorReason::kShapeOutOfRange, "rows"));
  EXPECT_THAT(refused({.dtype = DType::kInt32, .k = 1, .columns = 5}, 1),
              FailsWith(ErrorReason::kDtypeUnsupported, "dtype"));
}

}  // namespace
}  // namespace winnow::contract
