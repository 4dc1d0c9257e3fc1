// The score rows of tests/data: ties by the thousand, heavy tails, local bursts.

#include "tests/contract/contract_test.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_data.h"

namespace winnow::contract {
namespace {

TEST_P(ContractTest, RealFloat32RowsAreRight) {
  const auto rows = testing::LoadRealRows();
  ASSERT_OK(rows);
  TopKRequest request;
  request.windows = rows->float32;
  request.pages = RandomPageTable(request.rows(), 131072, 64, random());
  request.wants_slots = request.wants_values = true;
  for (const int32_t k : {1, 512, 2048}) ExpectTopKInAllModes(DType::kFloat32, k, request);
}

TEST_P(ContractTest, RealBfloat16RowsAreRight) {
  const auto rows = testing::LoadRealRows();
  ASSERT_OK(rows);
  TopKRequest request;
  request.windows = rows->bfloat16;
  request.pages = RandomPageTable(request.rows(), 16384, 8, random());
  request.wants_slots = request.wants_values = true;
  for (const int32_t k : {1, 512, 2048}) ExpectTopKInAllModes(DType::kBfloat16, k, request);
}

TEST_P(ContractTest, RealRowsArePublishedRight) {
  const auto rows = testing::LoadRealRows();
  ASSERT_OK(rows);
  PublishRequest request;
  request.windows = rows->float32;
  request.pages =
      RandomPageTable(static_cast<int32_t>(request.windows.size()), 131072, 64, random());
  for (const bool deterministic : {false, true}) {
    ExpectPublish({.deterministic = deterministic}, {request});
  }
}

}  // namespace
}  // namespace winnow::contract
