// Operations that feed each other on one stream, without a look from the host in between.

#include <algorithm>

#include "tests/contract/contract_test.h"
#include "tests/contract/report_check.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/reference.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::contract {
namespace {

constexpr int32_t kBlockSize = 8;
constexpr int32_t kBlocks = 2048;

// A publish whose candidates a later layer consumes.
struct Chain {
  Chain(const PublishParams& params, const PublishRequest& request, testing::Random& random)
      : publish(params, request, image) {
    std::vector<std::vector<float>> windows;
    for (int32_t row = 0; row < publish.rows; ++row) {
      windows.push_back(
          MakeScores(testing::Pattern::kNormal, int64_t{kBlocks} * kBlockSize, random));
    }
    scores = PlaceScores(DType::kBfloat16, windows, {}, 0, 0, 0, image);
    slots = PlacedOutput::Place(true, publish.rows, 512, 0, 4, image);
    report = image.Put(std::vector<SegmentReport>(1));
  }

  TopKSegment Consume(std::byte* base) const {
    const PublishSegment source = publish.At(base);
    TopKSegment segment;
    segment.scores = base + scores.offset;
    segment.row_stride = scores.row_stride;
    segment.rows = publish.rows;
    segment.columns = scores.columns;
    segment.lengths = source.candidate_lengths;
    segment.pages.page_table = source.block_slots;
    segment.pages.row_stride = source.block_slots_row_stride;
    segment.pages.table_rows = publish.rows;
    segment.pages.table_columns = kBlocks;
    segment.pages.page_size = kBlockSize;
    segment.slots = Pointer<int32_t>(base, slots.offset);
    segment.slots_row_stride = slots.row_stride;
    segment.report = Pointer<SegmentReport>(base, report);
    return segment;
  }

  MemoryImage image;
  PublishLayout publish;
  PlacedScores scores;
  PlacedOutput slots;
  int64_t report;
};

PublishRequest SomePublish(const std::vector<int32_t>& lengths, testing::Random& random) {
  PublishRequest request;
  for (const int32_t length : lengths) {
    request.windows.push_back(MakeScores(testing::Pattern::kRelu, length, random));
  }
  request.pages = RandomPageTable(static_cast<int32_t>(lengths.size()), 70000, 64, random);
  return request;
}

TEST_P(ContractTest, PublishedCandidatesAreConsumedRight) {
  const PublishParams publish{.k_blocks = kBlocks, .deterministic = true};
  const TopKParams consume{.dtype = DType::kBfloat16, .k = 512, .deterministic = true};
  Chain chain(publish, SomePublish({0, 5, 700, 16384, 16385, 30001, 70000}, random()), random());
  MemoryImage expected = chain.image;
  ASSERT_OK(reference::PublishCandidates(publish, chain.publish.At(expected.data())));
  ASSERT_OK(reference::TopK(consume, chain.Consume(expected.data())));
  MemoryImage after = chain.image;
  ASSERT_OK(executor().Run(after, [&](Stream& stream, std::byte* base) -> absl::Status {
    const PublishSegment source = chain.publish.At(base);
    const TopKSegment segment = chain.Consume(base);
    WINNOW_ASSIGN_OR_RETURN(
        const auto workspace,
        executor().Workspace(std::max(device().PublishWorkspaceBytes(publish, {&source, 1}),
                                      device().TopKWorkspaceBytes(consume, {&segment, 1}))));
    WINNOW_RETURN_IF_ERROR(device().PublishCandidates(stream, publish, {&source, 1}, workspace));
    return device().TopK(stream, consume, {&segment, 1}, workspace);
  }));
  EXPECT_TRUE(CheckUntouched(expected, after));
}

// Keys, block counts and unsorted blocks of a publish done in its steps.
struct Steps {
  Steps(int32_t rows, int32_t columns, MemoryImage& image)
      : keys(PlacedOutput::Place(true, rows, (columns + kBlockSize - 1) / kBlockSize, 0, 4, image)),
        blocks(PlacedOutput::Place(true, rows, kBlocks, 0, 4, image)),
        counts(image.Reserve(int64_t{rows} * 4)),
        reports(image.Put(std::vector<SegmentReport>(4))) {}

  PlacedOutput keys, blocks;
  int64_t counts, reports;
};

// The chain's steps as a caller would write them, each on what the one before left.
struct ChainSegments {
  TopKSegment tokens;
  BlockAmaxSegment amax;
  TopKSegment select;
  SortBlocksSegment sort;
};

TopKSegment TokenSegment(const PublishSegment& whole, SegmentReport* report) {
  return {.scores = whole.scores,
          .row_stride = whole.row_stride,
          .rows = whole.rows,
          .columns = whole.columns,
          .lengths = whole.lengths,
          .pages = whole.pages,
          .indices = whole.indices,
          .slots = whole.slots,
          .indices_row_stride = whole.indices_row_stride,
          .slots_row_stride = whole.slots_row_stride,
          .report = report};
}

ChainSegments SegmentsOf(const PublishSegment& whole, const Steps& steps, std::byte* base) {
  auto* const reports = Pointer<SegmentReport>(base, steps.reports);
  ChainSegments chain{.tokens = TokenSegment(whole, reports)};
  chain.amax = {.scores = whole.scores,
                .row_stride = whole.row_stride,
                .rows = whole.rows,
                .columns = whole.columns,
                .lengths = whole.lengths,
                .keys = Pointer<float>(base, steps.keys.offset),
                .keys_row_stride = steps.keys.row_stride,
                .keys_columns = static_cast<int32_t>(steps.keys.columns),
                .block_counts = Pointer<int32_t>(base, steps.counts),
                .report = reports + 1};
  chain.select = {.scores = chain.amax.keys,
                  .row_stride = chain.amax.keys_row_stride,
                  .rows = whole.rows,
                  .columns = chain.amax.keys_columns,
                  .lengths = chain.amax.block_counts,
                  .indices = Pointer<int32_t>(base, steps.blocks.offset),
                  .indices_row_stride = steps.blocks.row_stride,
                  .report = reports + 2};
  chain.sort = {.blocks = chain.select.indices,
                .blocks_row_stride = steps.blocks.row_stride,
                .rows = whole.rows,
                .lengths = whole.lengths,
                .pages = whole.pages,
                .out_blocks = whole.blocks,
                .block_slots = whole.block_slots,
                .candidate_lengths = whole.candidate_lengths,
                .out_blocks_row_stride = whole.blocks_row_stride,
                .block_slots_row_stride = whole.block_slots_row_stride,
                .report = reports + 3};
  return chain;
}

absl::Status RunSteps(Executor& executor, const PublishLayout& layout, const Steps& steps,
                      Stream& stream, std::byte* base) {
  const ChainSegments chain = SegmentsOf(layout.At(base), steps, base);
  const TopKParams token_params{.k = 512, .deterministic = true};
  const TopKParams block_params{.k = kBlocks, .deterministic = true};
  Device& device = executor.device();
  WINNOW_ASSIGN_OR_RETURN(
      const auto workspace,
      executor.Workspace(std::max(device.TopKWorkspaceBytes(token_params, {&chain.tokens, 1}),
                                  device.TopKWorkspaceBytes(block_params, {&chain.select, 1}))));
  WINNOW_RETURN_IF_ERROR(device.TopK(stream, token_params, {&chain.tokens, 1}, workspace));
  WINNOW_RETURN_IF_ERROR(device.BlockAmax(stream, {}, {&chain.amax, 1}));
  WINNOW_RETURN_IF_ERROR(device.TopK(stream, block_params, {&chain.select, 1}, workspace));
  return device.SortCandidateBlocks(stream, {.width = kBlocks}, {&chain.sort, 1});
}

TEST_P(ContractTest, PublishEqualsItsSteps) {
  const PublishParams publish{.k_blocks = kBlocks, .deterministic = true};
  MemoryImage before;
  const PublishLayout layout(
      publish, SomePublish({0, 5, 700, 16384, 16385, 30001, 70000}, random()), before);
  const Steps steps(layout.rows, layout.scores.columns, before);
  MemoryImage expected = before;
  ASSERT_OK(reference::PublishCandidates(publish, layout.At(expected.data())));
  MemoryImage after = before;
  ASSERT_OK(executor().Run(after, [&](Stream& stream, std::byte* base) {
    return RunSteps(executor(), layout, steps, stream, base);
  }));
  for (MemoryImage* image : {&expected, &after}) {
    steps.keys.Blank(*image);
    steps.blocks.Blank(*image);
    image->Blank(steps.counts, int64_t{layout.rows} * 4);
  }
  EXPECT_TRUE(CheckUntouched(expected, after));
}

}  // namespace
}  // namespace winnow::contract
