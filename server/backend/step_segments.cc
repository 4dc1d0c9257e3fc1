#include "server/backend/step_segments.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Addresses of one step of one item.
struct Addresses {
  const StagedLaunch& launch;
  const StepPlaces& places;

  const int32_t* Ints(const Place& place) const {
    return reinterpret_cast<const int32_t*>(launch.OnDevice(place));
  }
  int32_t* IntsOf(OutputName name) const {
    return reinterpret_cast<int32_t*>(launch.OnDevice(places.OutputAt(name)));
  }
  int64_t StrideOf(OutputName name) const { return places.OutputAt(name).row_stride; }
  SegmentReport* Report() const {
    return reinterpret_cast<SegmentReport*>(launch.OnDevice(places.report));
  }
};

// Rows, columns and lengths. Without columns every row is empty (CheckItem saw to it), so one
// column that is never read stands for none, which the device does not accept.
template <typename SegmentT>
void FillScores(const TensorRef& scores, const Addresses& at, SegmentT& segment) {
  segment.rows = static_cast<int32_t>(scores.rows);
  segment.columns = static_cast<int32_t>(std::max<int64_t>(scores.columns, 1));
  segment.scores = at.launch.OnDevice(at.places.scores);
  segment.row_stride = std::max<int64_t>(at.places.scores.row_stride, 1);
  if (scores.columns == 0) segment.scores = at.Report();
  segment.lengths = at.Ints(at.places.lengths);
  segment.report = at.Report();
}

PageTransform MakePages(const PageTableRef& pages, const Addresses& at) {
  PageTransform transform;
  transform.page_table = at.Ints(at.places.table);
  transform.page_table_rows = at.Ints(at.places.table_rows);
  transform.row_stride = at.places.table.row_stride;
  transform.table_rows = static_cast<int32_t>(pages.table.rows);
  transform.table_columns = static_cast<int32_t>(pages.table.columns);
  transform.page_size = pages.page_size;
  transform.pool_pages = pages.pool_pages;
  return transform;
}

TopKSegment MakeSegment(const TopKStep& step, const Addresses& at) {
  TopKSegment segment;
  FillScores(step.scores, at, segment);
  segment.row_starts = at.Ints(at.places.row_starts);
  segment.index_offsets = at.Ints(at.places.index_offsets);
  if (step.slots.wanted()) segment.pages = MakePages(step.pages, at);
  segment.indices = at.IntsOf(OutputName::kIndices);
  segment.slots = at.IntsOf(OutputName::kSlots);
  segment.values = at.launch.OnDevice(at.places.OutputAt(OutputName::kValues));
  segment.indices_row_stride = at.StrideOf(OutputName::kIndices);
  segment.slots_row_stride = at.StrideOf(OutputName::kSlots);
  segment.values_row_stride = at.StrideOf(OutputName::kValues);
  segment.plan = at.launch.OnDevice(at.places.plan);
  segment.max_length = step.max_length;
  return segment;
}

BlockAmaxSegment MakeSegment(const BlockAmaxStep& step, const Addresses& at) {
  BlockAmaxSegment segment;
  FillScores(step.scores, at, segment);
  segment.keys =
      reinterpret_cast<float*>(at.launch.OnDevice(at.places.OutputAt(OutputName::kKeys)));
  segment.keys_row_stride = at.StrideOf(OutputName::kKeys);
  segment.keys_columns = step.key_columns;
  segment.block_counts = at.IntsOf(OutputName::kBlockCounts);
  return segment;
}

SortBlocksSegment MakeSegment(const SortBlocksStep& step, const Addresses& at) {
  SortBlocksSegment segment;
  segment.blocks = at.Ints(at.places.scores);
  segment.blocks_row_stride = at.places.scores.row_stride;
  segment.rows = static_cast<int32_t>(step.blocks.rows);
  segment.max_length = step.max_length;
  segment.lengths = at.Ints(at.places.lengths);
  if (step.block_slots.wanted()) segment.pages = MakePages(step.pages, at);
  segment.out_blocks = at.IntsOf(OutputName::kBlocks);
  segment.block_slots = at.IntsOf(OutputName::kBlockSlots);
  segment.candidate_lengths = at.IntsOf(OutputName::kCandidateLengths);
  segment.out_blocks_row_stride = at.StrideOf(OutputName::kBlocks);
  segment.block_slots_row_stride = at.StrideOf(OutputName::kBlockSlots);
  segment.report = at.Report();
  return segment;
}

PublishSegment MakeSegment(const PublishStep& step, const Addresses& at) {
  PublishSegment segment;
  FillScores(step.scores, at, segment);
  if (step.slots.wanted() || step.block_slots.wanted()) segment.pages = MakePages(step.pages, at);
  segment.slots = at.IntsOf(OutputName::kSlots);
  segment.indices = at.IntsOf(OutputName::kIndices);
  segment.blocks = at.IntsOf(OutputName::kBlocks);
  segment.block_slots = at.IntsOf(OutputName::kBlockSlots);
  segment.candidate_lengths = at.IntsOf(OutputName::kCandidateLengths);
  segment.slots_row_stride = at.StrideOf(OutputName::kSlots);
  segment.indices_row_stride = at.StrideOf(OutputName::kIndices);
  segment.blocks_row_stride = at.StrideOf(OutputName::kBlocks);
  segment.block_slots_row_stride = at.StrideOf(OutputName::kBlockSlots);
  segment.max_length = step.max_length;
  return segment;
}

template <typename StepT>
using SegmentOf = decltype(MakeSegment(std::declval<const StepT&>(), std::declval<Addresses>()));

// Segments of all items whose step has rows. The items' steps are of one operation: they share a
// BatchKey.
template <typename StepT>
std::vector<SegmentOf<StepT>> MakeSegments(const StagedLaunch& launch, size_t step) {
  std::vector<SegmentOf<StepT>> segments;
  segments.reserve(launch.items().size());
  for (size_t item = 0; item < launch.items().size(); ++item) {
    const StepPlaces& places = launch.PlacesOf(item, step);
    if (!places.runs) continue;
    const auto& operation = std::get<StepT>(launch.items()[item]->steps[step]);
    segments.push_back(MakeSegment(operation, {launch, places}));
  }
  return segments;
}

absl::Status MakePlans(Device& device, Stream& stream, const StagedLaunch& launch, size_t step) {
  for (size_t item = 0; item < launch.items().size(); ++item) {
    const StepPlaces& places = launch.PlacesOf(item, step);
    const auto& operation = std::get<TopKStep>(launch.items()[item]->steps[step]);
    if (!places.runs || !places.plan.present() || operation.plan != nullptr) continue;
    const TopKSegment segment = MakeSegment(operation, {launch, places});
    WINNOW_RETURN_IF_ERROR(device.PlanTopK(stream,
                                           {.dtype = operation.params.dtype,
                                            .k = operation.params.k,
                                            .columns = segment.columns,
                                            .static_threshold = operation.static_threshold},
                                           segment.lengths, segment.rows,
                                           launch.OnDevice(places.plan)));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t WorkspaceBytes(const Device& device, const StagedLaunch& launch, size_t step) {
  const Step& first = launch.items().front()->steps[step];
  if (const auto* top_k = std::get_if<TopKStep>(&first)) {
    const auto segments = MakeSegments<TopKStep>(launch, step);
    return segments.empty() ? 0 : device.TopKWorkspaceBytes(top_k->params, segments);
  }
  if (const auto* publish = std::get_if<PublishStep>(&first)) {
    const auto segments = MakeSegments<PublishStep>(launch, step);
    return segments.empty() ? 0 : device.PublishWorkspaceBytes(publish->params, segments);
  }
  return 0;
}

absl::Status EnqueueStep(Device& device, Stream& stream, const StagedLaunch& launch, size_t step,
                         absl::Span<std::byte> workspace) {
  return std::visit(
      [&](const auto& operation) -> absl::Status {
        using StepT = std::decay_t<decltype(operation)>;
        const auto segments = MakeSegments<StepT>(launch, step);
        if (segments.empty()) return absl::OkStatus();
        if constexpr (std::is_same_v<StepT, TopKStep>) {
          WINNOW_RETURN_IF_ERROR(MakePlans(device, stream, launch, step));
          return device.TopK(stream, operation.params, segments, workspace);
        } else if constexpr (std::is_same_v<StepT, BlockAmaxStep>) {
          return device.BlockAmax(stream, operation.params, segments);
        } else if constexpr (std::is_same_v<StepT, SortBlocksStep>) {
          return device.SortCandidateBlocks(stream, operation.params, segments);
        } else {
          return device.PublishCandidates(stream, operation.params, segments, workspace);
        }
      },
      launch.items().front()->steps[step]);
}

}  // namespace winnow::server
