// Every operation is captured into a CUDA graph once and replayed 100 times on other scores, other
// lengths and other page tables: nothing about the data is in the graph, and nothing allocates or
// synchronises inside an operation.

#include <algorithm>
#include <vector>

#include "kernels/cuda/testing/force_route.h"
#include "tests/contract/block_check.h"
#include "tests/contract/block_requests.h"
#include "tests/contract/topk_check.h"
#include "tests/contract/topk_request.h"
#include "tests/gpu/gpu_test.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/status_matchers.h"

namespace winnow::gpu {
namespace {

using contract::MemoryImage;

constexpr int kReplays = 100;
constexpr int32_t kRows = 9;
constexpr int32_t kColumns = 40000;

// Windows of random lengths and patterns; some rows empty, some negative, some full.
std::vector<std::vector<float>> RandomWindows(std::vector<int32_t>& lengths,
                                              testing::Random& random) {
  std::vector<std::vector<float>> windows(kRows);
  lengths.resize(kRows);
  for (int32_t row = 0; row < kRows; ++row) {
    int32_t length = static_cast<int32_t>(random.Between(-2, kColumns));
    if (random.OneIn(4)) length = static_cast<int32_t>(random.Between(0, 3000));
    if (random.OneIn(8)) length = kColumns;
    const auto pattern = static_cast<testing::Pattern>(random.Below(testing::kPatternCount));
    lengths[row] = length;
    windows[row] = testing::MakeScores(random.OneIn(2) ? testing::Pattern::kNormal : pattern,
                                       std::max(length, 0), random);
  }
  return windows;
}

class GraphCaptureTest : public GpuTest {
 protected:
  // Captures `launch` on the first request that `make` gives and replays it on kReplays others.
  template <typename Layout, typename Params, typename Make, typename WorkspaceBytes,
            typename Launch, typename Check>
  void ExpectReplays(const Params& params, Make make, WorkspaceBytes workspace_bytes, Launch launch,
                     Check check) {
    std::unique_ptr<GraphReplay> replay;
    int64_t image_bytes = 0;
    for (int i = 0; i < kReplays; ++i) {
      MemoryImage before;
      const std::vector<Layout> layouts = {Layout(params, make(), before)};
      if (replay == nullptr) {
        image_bytes = before.size();
        auto captured = GraphReplay::Capture(
            device(), image_bytes, workspace_bytes(layouts[0].At(nullptr)),
            [&](Stream& stream, std::byte* base, absl::Span<std::byte> workspace) {
              return launch(stream, layouts[0].At(base), workspace);
            });
        ASSERT_OK(captured);
        replay = *std::move(captured);
      }
      ASSERT_EQ(before.size(), image_bytes) << "the layout depends on the data";
      MemoryImage after = before;
      ASSERT_OK(replay->Replay(after));
      ASSERT_TRUE(check(params, layouts, before, after)) << "replay " << i;
    }
  }
};

class TopKGraphTest : public GraphCaptureTest, public ::testing::WithParamInterface<TopKParams> {};

TEST_P(TopKGraphTest, ReplaysAreRightForOtherData) {
  const TopKParams& params = GetParam();
  const auto make = [&] {
    contract::TopKRequest request;
    request.windows = RandomWindows(request.lengths, random());
    request.columns = kColumns;
    request.pages = contract::RandomPageTable(kRows, kColumns, 64, random());
    request.wants_slots = request.wants_values = true;
    return request;
  };
  ExpectReplays<contract::TopKLayout>(
      params, make,
      [&](const TopKSegment& segment) {
        return device().TopKWorkspaceBytes(params, {&segment, 1});
      },
      [&](Stream& stream, const TopKSegment& segment, absl::Span<std::byte> workspace) {
        return device().TopK(stream, params, {&segment, 1}, workspace);
      },
      contract::CheckTopK);
}

INSTANTIATE_TEST_SUITE_P(
    Params, TopKGraphTest,
    ::testing::Values(TopKParams{.k = 512}, TopKParams{.k = 2048, .deterministic = true},
                      TopKParams{.k = 100, .order = Order::kScore},
                      TopKParams{.dtype = DType::kBfloat16, .k = 512, .deterministic = true}));

TEST_F(GraphCaptureTest, BlockAmaxReplaysAreRightForOtherData) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    const auto make = [&] {
      contract::BlockAmaxRequest request;
      request.windows = RandomWindows(request.lengths, random());
      request.columns = kColumns;
      return request;
    };
    const BlockAmaxParams params{.dtype = dtype, .skip_at_most = 16};
    ExpectReplays<contract::BlockAmaxLayout>(
        params, make, [](const BlockAmaxSegment&) { return 0; },
        [&](Stream& stream, const BlockAmaxSegment& segment, absl::Span<std::byte>) {
          return device().BlockAmax(stream, params, {&segment, 1});
        },
        contract::CheckBlockAmaxRun);
  }
}

TEST_F(GraphCaptureTest, SortedBlocksReplaysAreRightForOtherData) {
  const SortBlocksParams params{.width = 700};
  const auto make = [&] {
    contract::SortBlocksRequest request;
    for (int32_t row = 0; row < kRows; ++row) {
      const auto length = static_cast<int32_t>(random().Between(-1, 2 * kColumns));
      const int32_t blocks = (std::max(length, 0) + 7) / 8;
      std::vector<int32_t> ids(params.width, -1);
      for (int32_t& id : ids) {
        if (blocks > 0 && !random().OneIn(9)) id = static_cast<int32_t>(random().Below(blocks));
      }
      request.lengths.push_back(length);
      request.blocks.push_back(std::move(ids));
    }
    request.pages = contract::RandomPageTable(kRows, 2 * kColumns, 64, random());
    request.wants_block_slots = true;
    request.in_place = true;
    return request;
  };
  ExpectReplays<contract::SortBlocksLayout>(
      params, make, [](const SortBlocksSegment&) { return 0; },
      [&](Stream& stream, const SortBlocksSegment& segment, absl::Span<std::byte>) {
        return device().SortCandidateBlocks(stream, params, {&segment, 1});
      },
      contract::CheckSortBlocksRun);
}

// The parameter: fused or step by step.
class PublishCaptureTest : public GraphCaptureTest, public ::testing::WithParamInterface<bool> {
 protected:
  PublishCaptureTest() { cuda::ForceFusedPublish(GetParam()); }
  ~PublishCaptureTest() override { cuda::ForceFusedPublish(false); }
};

TEST_P(PublishCaptureTest, PublishReplaysAreRightForOtherData) {
  const PublishParams params{.k = 512, .k_blocks = 1024};
  const auto make = [&] {
    contract::PublishRequest request;
    request.windows = RandomWindows(request.lengths, random());
    request.columns = kColumns;
    request.pages = contract::RandomPageTable(kRows, kColumns, 64, random());
    return request;
  };
  ExpectReplays<contract::PublishLayout>(
      params, make,
      [&](const PublishSegment& segment) {
        return device().PublishWorkspaceBytes(params, {&segment, 1});
      },
      [&](Stream& stream, const PublishSegment& segment, absl::Span<std::byte> workspace) {
        return device().PublishCandidates(stream, params, {&segment, 1}, workspace);
      },
      contract::CheckPublishRun);
}

INSTANTIATE_TEST_SUITE_P(Ways, PublishCaptureTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Fused" : "Steps"; });

}  // namespace
}  // namespace winnow::gpu
