// Every top-k kernel of a route once or twice, with as few and as short rows as take all of its
// ways: what a sanitizer that slows a kernel ten thousandfold can run to the end. The contract
// suite tests the same and more at full speed.

#include <vector>

#include "tests/contract/topk_check.h"
#include "tests/contract/topk_request.h"
#include "tests/gpu/gpu_test.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/status_matchers.h"

namespace winnow::gpu {
namespace {

using contract::MemoryImage;
using contract::TopKLayout;
using testing::Pattern;

class FewRowsTest : public GpuTest, public ::testing::WithParamInterface<DType> {
 protected:
  void ExpectRight(const TopKParams& params, const contract::TopKRequest& request) {
    MemoryImage before;
    const std::vector<TopKLayout> layouts = {TopKLayout(params, request, before)};
    auto stream = device().CreateStream(StreamPriority::kNormal);
    auto memory = device().Allocate(MemoryKind::kDevice, before.size());
    constexpr int64_t kWorkspaceBytes = 16 << 20;
    auto workspace = device().Allocate(MemoryKind::kDevice, kWorkspaceBytes);
    ASSERT_OK(stream);
    ASSERT_OK(memory);
    ASSERT_OK(workspace);
    MemoryImage after = before;
    ASSERT_OK(device().Copy(**stream, (*memory)->data(), before.data(), before.size()));
    const TopKSegment segment = layouts[0].At((*memory)->data());
    ASSERT_OK(device().TopK(**stream, params, {&segment, 1},
                            absl::MakeSpan((*workspace)->data(), kWorkspaceBytes)));
    ASSERT_OK(device().Copy(**stream, after.data(), (*memory)->data(), after.size()));
    ASSERT_OK((*stream)->Synchronize());
    EXPECT_TRUE(CheckTopK(params, layouts, before, after));
  }
};

// Whole rows, rows below and above the candidate buffer, a plateau at the threshold, equal scores
// alone, and too few numbers, which leaves the selection to the exact way.
contract::TopKRequest RowsOfEveryWay(int32_t k, testing::Random& random) {
  contract::TopKRequest request;
  const auto add = [&](Pattern pattern, int32_t length) {
    request.windows.push_back(MakeScores(pattern, length, random));
  };
  add(Pattern::kNormal, k - 1);
  add(Pattern::kNormal, 3 * k + 5);
  add(Pattern::kNormal, 9001);
  add(Pattern::kRelu, 9002);
  add(Pattern::kAllEqual, 9003);
  add(Pattern::kNanMany, 9000);
  request.misaligned_elements = 1;
  request.wants_slots = true;
  request.pages = contract::RandomPageTable(request.rows(), 9003, 64, random);
  return request;
}

TEST_P(FewRowsTest, EveryWayOfARowIsRight) {
  for (const int32_t k : {64, 600}) {
    const contract::TopKRequest request = RowsOfEveryWay(k, random());
    ExpectRight({.dtype = GetParam(), .k = k}, request);
    ExpectRight({.dtype = GetParam(), .k = k, .deterministic = true}, request);
  }
}

TEST_P(FewRowsTest, ARowByItselfIsRight) {
  for (const int32_t k : {64, 600}) {
    ExpectRight({.dtype = GetParam(), .k = k}, contract::NormalRequest({9001}, random()));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, FewRowsTest, ::testing::Values(DType::kFloat32, DType::kBfloat16),
                         [](const auto& info) {
                           return info.param == DType::kFloat32 ? "Float32" : "Bfloat16";
                         });

}  // namespace
}  // namespace winnow::gpu
