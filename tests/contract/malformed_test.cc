// Calls that a device must refuse before it touches anything. tests/kernels/checks_test.cc has the
// table of all malformed calls; here each device is seen to ask the checks and to write nothing.

#include "tests/contract/contract_test.h"
#include "tests/contract/report_check.h"
#include "tests/contract/topk_check.h"
#include "tests/testing/status_matchers.h"

namespace winnow::contract {
namespace {

using testing::FailsWith;

TEST_P(ContractTest, AMalformedCallWritesNothing) {
  TopKRequest request = NormalRequest({3000, 700}, random());
  request.pages = RandomPageTable(2, 3000, 64, random());
  request.wants_slots = true;
  struct Malformed {
    const char* field;
    void (*spoil)(TopKParams&, TopKSegment&);
  };
  const Malformed table[] = {
      {"k", [](TopKParams& params, TopKSegment&) { params.k = 0; }},
      {"dtype", [](TopKParams& params, TopKSegment&) { params.dtype = DType::kInt32; }},
      {"rows", [](TopKParams&, TopKSegment& segment) { segment.rows = 0; }},
      {"row_stride", [](TopKParams&, TopKSegment& segment) { segment.row_stride = 2999; }},
      {"row_stride", [](TopKParams&, TopKSegment& segment) { segment.row_stride = INT64_MAX; }},
      {"scores", [](TopKParams&, TopKSegment& segment) { segment.scores = nullptr; }},
      {"lengths", [](TopKParams&, TopKSegment& segment) { segment.lengths = nullptr; }},
      {"pages.page_size", [](TopKParams&, TopKSegment& segment) { segment.pages.page_size = 3; }},
      {"slots_row_stride", [](TopKParams&, TopKSegment& segment) { segment.slots_row_stride = 5; }},
      {"report", [](TopKParams&, TopKSegment& segment) { segment.report = nullptr; }},
  };
  for (const Malformed& malformed : table) {
    TopKParams params{.k = 512};
    MemoryImage before;
    const TopKLayout layout(params, request, before);
    MemoryImage after = before;
    const absl::Status refused = executor().Run(after, [&](Stream& stream, std::byte* base) {
      TopKSegment segment = layout.At(base);
      malformed.spoil(params, segment);
      return device().TopK(stream, params, {&segment, 1}, {});
    });
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_EQ(GetErrorInfo(refused).value_or(ErrorInfo{}).field, malformed.field) << refused;
    EXPECT_TRUE(CheckUntouched(before, after));
  }
}

TEST_P(ContractTest, AWorkspaceTooSmallIsRefused) {
  const TopKParams params{.k = 512};
  MemoryImage before;
  const TopKLayout layout(params, NormalRequest({9000, 700, 16000, 5}, random()), before);
  const TopKSegment host = layout.At(before.data());
  const int64_t needed = device().TopKWorkspaceBytes(params, {&host, 1});
  if (needed == 0) GTEST_SKIP() << "this device needs no workspace";
  MemoryImage after = before;
  const absl::Status refused = executor().Run(after, [&](Stream& stream, std::byte* base) {
    const TopKSegment segment = layout.At(base);
    auto workspace = executor().Workspace(needed);
    return device().TopK(stream, params, {&segment, 1}, workspace->first(needed - 1));
  });
  EXPECT_THAT(refused, FailsWith(ErrorReason::kWorkspaceTooSmall, "workspace"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(CheckUntouched(before, after));
}

TEST_P(ContractTest, MemoryThatIsNotThereIsRefused) {
  const auto refused = device().Allocate(MemoryKind::kDevice, int64_t{1} << 60);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
  EXPECT_OK(device().Healthy());
}

}  // namespace
}  // namespace winnow::contract
