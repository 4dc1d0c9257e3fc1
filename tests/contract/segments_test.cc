// Requests of several callers in one launch, drawn at random.

#include <algorithm>
#include <limits>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

using testing::Pattern;
using testing::Random;

Pattern AnyPattern(Random& random) {
  return static_cast<Pattern>(random.OneIn(2) ? 0 : random.Below(testing::kPatternCount));
}

int32_t AnyLength(int64_t max_length, Random& random) {
  if (random.OneIn(10)) return 0;
  const int64_t top = random.OneIn(6) ? max_length : random.OneIn(2) ? 12000 : 900;
  return static_cast<int32_t>(random.Between(1, std::min(top, max_length)));
}

TopKRequest AnyTopKRequest(int64_t max_length, Random& random) {
  TopKRequest request;
  const int64_t rows = random.OneIn(3) ? random.Between(1, 40) : random.Between(1, 5);
  int32_t longest = 1;
  for (int64_t row = 0; row < rows; ++row) {
    request.windows.push_back(
        MakeScores(AnyPattern(random), AnyLength(rows > 8 ? 20000 : max_length, random), random));
    longest = std::max(longest, static_cast<int32_t>(request.windows.back().size()));
    request.lengths.push_back(static_cast<int32_t>(request.windows.back().size()));
    if (request.lengths.back() == 0 && random.OneIn(2)) request.lengths.back() = -4;
  }
  if (random.OneIn(3)) {
    for (int64_t row = 0; row < rows; ++row) {
      request.row_starts.push_back(static_cast<int32_t>(random.Below(12)));
    }
  }
  if (random.OneIn(3)) {
    for (int64_t row = 0; row < rows; ++row) {
      request.index_offsets.push_back(static_cast<int32_t>(random.Between(-1000, 1 << 29)));
    }
  }
  static constexpr int32_t kPageSizes[] = {1, 8, 64, 128, 256};
  const auto any_page_size = kPageSizes[random.Below(5)];
  if (random.OneIn(2)) {
    request.pages = RandomPageTable(static_cast<int32_t>(rows), longest, any_page_size, random);
    request.pages.stride_padding = random.Below(3);
    request.wants_slots = true;
  }
  request.wants_values = random.OneIn(3);
  request.wants_indices = (!request.wants_slots && !request.wants_values) || random.OneIn(2);
  request.stride_padding = random.OneIn(2) ? 0 : random.Below(9);
  request.misaligned_elements = random.OneIn(2) ? 0 : random.Below(9);
  request.output_padding = random.OneIn(2) ? 0 : random.Below(5);
  return request;
}

TEST_P(ContractTest, RandomBatchesOfMixedRequestsAreRight) {
  for (int batch = 0; batch < Repetitions(200); ++batch) {
    SCOPED_TRACE(batch);
    TopKParams params;
    params.dtype = random().OneIn(3) ? DType::kBfloat16 : DType::kFloat32;
    static constexpr int32_t kSelections[] = {1, 7, 512, 1024, 2048};
    params.k = random().OneIn(3) ? static_cast<int32_t>(random().Between(1, kMaxK))
                                 : kSelections[random().Below(5)];
    params.order = static_cast<Order>(random().Below(3));
    params.deterministic = random().OneIn(2);
    std::vector<TopKRequest> requests;
    const int64_t count = random().Between(1, 8);
    const int64_t longest = std::min<int64_t>(MaxLength(), 140000);
    for (int64_t i = 0; i < count; ++i) requests.push_back(AnyTopKRequest(longest, random()));
    ExpectTopK(params, requests);
  }
}

TEST_P(ContractTest, RandomPublishBatchesAreRight) {
  for (int batch = 0; batch < Repetitions(60); ++batch) {
    SCOPED_TRACE(batch);
    PublishParams params;
    params.dtype = random().OneIn(2) ? DType::kBfloat16 : DType::kFloat32;
    params.k = random().OneIn(2) ? 512 : static_cast<int32_t>(random().Between(1, kMaxK));
    params.k_blocks = random().OneIn(2) ? 2048 : static_cast<int32_t>(random().Between(1, kMaxK));
    params.block_size = random().OneIn(2) ? 8 : 1 << random().Between(1, 6);
    params.deterministic = random().OneIn(2);
    std::vector<PublishRequest> requests(random().Between(1, 3));
    for (PublishRequest& request : requests) {
      const int64_t rows = random().Between(1, 6);
      int32_t longest = 1;
      for (int64_t row = 0; row < rows; ++row) {
        request.windows.push_back(
            MakeScores(AnyPattern(random()), AnyLength(40000, random()), random()));
        longest = std::max(longest, static_cast<int32_t>(request.windows.back().size()));
      }
      request.pages = RandomPageTable(static_cast<int32_t>(rows), longest, 64, random());
      request.misaligned_elements = random().Below(4);
      request.stride_padding = random().Below(4);
    }
    ExpectPublish(params, requests);
  }
}

TEST_P(ContractTest, AsManyRequestsAsALaunchMayHoldShareIt) {
  std::vector<TopKRequest> requests;
  for (int32_t i = 0; i < kMaxSegments; ++i) {
    requests.push_back(NormalRequest({static_cast<int32_t>(random().Below(1200))}, random()));
  }
  ExpectTopK({.k = 64, .deterministic = true}, requests);
}

TEST_P(ContractTest, AFaultyRequestHarmsNoOtherAtAnyPlace) {
  for (const size_t place : {0, 3, 6}) {
    std::vector<TopKRequest> requests;
    for (int i = 0; i < 7; ++i) requests.push_back(NormalRequest({3000, 700, 9000}, random()));
    requests[place].lengths = {3000, INT32_MAX, 9000};
    ExpectTopK({.k = 512}, requests);
  }
}

}  // namespace
}  // namespace winnow::contract
