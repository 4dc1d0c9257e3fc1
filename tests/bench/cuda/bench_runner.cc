#include "tests/bench/cuda/bench_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/launch/topk_launch.h"
#include "kernels/cuda/testing/force_route.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::bench {
namespace {

constexpr int64_t kFlushBytes = int64_t{256} << 20;

TopKSegment SegmentOf(const BenchMemory& memory, const BenchCase& bench_case,
                      const std::byte* scores) {
  TopKSegment segment;
  segment.scores = scores;
  segment.row_stride = segment.columns = bench_case.columns;
  segment.rows = bench_case.rows;
  segment.lengths = memory.LengthsOf(bench_case.Length());
  segment.max_length = bench_case.Length();
  segment.report = memory.report();
  if (bench_case.operation == Operation::kRaggedTopK) {
    segment.row_starts = segment.index_offsets = memory.starts();
  }
  if (bench_case.outputs.slots) {
    segment.pages = memory.PagesOf(bench_case);
    segment.slots = memory.OutputOf(Output::kSlots);
    segment.slots_row_stride = bench_case.k;
  }
  if (bench_case.outputs.indices) {
    segment.indices = memory.OutputOf(Output::kIndices);
    segment.indices_row_stride = bench_case.k;
  }
  if (bench_case.outputs.values) {
    segment.values = memory.OutputOf(Output::kValues);
    segment.values_row_stride = bench_case.k;
  }
  return segment;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchRunner>> BenchRunner::Create(int32_t ordinal) {
  std::unique_ptr<BenchRunner> runner(new BenchRunner());
  WINNOW_ASSIGN_OR_RETURN(runner->device_, cuda::CudaDevice::Open(ordinal));
  WINNOW_ASSIGN_OR_RETURN(auto stream, runner->device_->CreateStream(StreamPriority::kNormal));
  runner->stream_.reset(static_cast<cuda::CudaStream*>(stream.release()));
  WINNOW_ASSIGN_OR_RETURN(auto timer, GraphTimer::Create(runner->stream_->get(), kFlushBytes));
  runner->timer_ = std::make_unique<GraphTimer>(std::move(timer));
  WINNOW_ASSIGN_OR_RETURN(runner->memory_, BenchMemory::Create(*runner->device_, *runner->stream_));
  return runner;
}

absl::Status BenchRunner::EnqueueTopK(const BenchCase& bench_case, const std::byte* scores) {
  const TopKSegment segment = SegmentOf(*memory_, bench_case, scores);
  const TopKParams params = {
      .dtype = bench_case.dtype, .k = bench_case.k, .deterministic = bench_case.deterministic};
  const absl::Span<std::byte> workspace = memory_->workspace();
  if (!bench_case.policy.has_value()) {
    return device_->TopK(*stream_, params, {&segment, 1}, workspace);
  }
  const cuda::LaunchContext context = {.traits = device_->traits(),
                                       .stream = stream_->get(),
                                       .dependent_launch = bench_case.chained};
  if (cuda::TopKWorkspaceBytes(*bench_case.policy, params, {&segment, 1}) >
      static_cast<int64_t>(workspace.size())) {
    return absl::UnimplementedError("the policy needs more workspace than there is");
  }
  return BenchStatus(
      cuda::LaunchTopK(context, *bench_case.policy, params, {&segment, 1}, workspace),
      "launching a top-k");
}

absl::Status BenchRunner::EnqueueBlockAmax(const BenchCase& bench_case, const std::byte* scores) {
  const int32_t columns = bench_case.columns / kDefaultBlockSize;
  const BlockAmaxSegment segment = {.scores = scores,
                                    .row_stride = bench_case.columns,
                                    .rows = bench_case.rows,
                                    .columns = bench_case.columns,
                                    .lengths = memory_->LengthsOf(bench_case.Length()),
                                    .keys = memory_->OutputOf<float>(Output::kKeys),
                                    .keys_row_stride = columns,
                                    .keys_columns = columns,
                                    .report = memory_->report()};
  return device_->BlockAmax(*stream_, {.dtype = bench_case.dtype}, {&segment, 1});
}

absl::Status BenchRunner::EnqueueSortBlocks(const BenchCase& bench_case, const int32_t* blocks) {
  const SortBlocksSegment segment = {.blocks = blocks,
                                     .blocks_row_stride = bench_case.k,
                                     .rows = bench_case.rows,
                                     .max_length = bench_case.columns,
                                     .lengths = memory_->LengthsOf(bench_case.Length()),
                                     .pages = memory_->PagesOf(bench_case),
                                     .out_blocks = memory_->OutputOf(Output::kBlocks),
                                     .block_slots = memory_->OutputOf(Output::kBlockSlots),
                                     .out_blocks_row_stride = bench_case.k,
                                     .block_slots_row_stride = bench_case.k,
                                     .report = memory_->report()};
  return device_->SortCandidateBlocks(*stream_, {.width = bench_case.k}, {&segment, 1});
}

absl::Status BenchRunner::EnqueuePublish(const BenchCase& bench_case, const std::byte* scores) {
  PublishSegment segment;
  segment.scores = scores;
  segment.row_stride = segment.columns = bench_case.columns;
  segment.rows = bench_case.rows;
  segment.lengths = memory_->LengthsOf(bench_case.Length());
  segment.pages = memory_->PagesOf(bench_case);
  segment.slots = memory_->OutputOf(Output::kSlots);
  segment.blocks = memory_->OutputOf(Output::kBlocks);
  segment.block_slots = memory_->OutputOf(Output::kBlockSlots);
  segment.slots_row_stride = bench_case.k;
  segment.blocks_row_stride = segment.block_slots_row_stride = kPublishBlocks;
  segment.max_length = bench_case.Length();
  segment.report = memory_->report();
  return device_->PublishCandidates(
      *stream_, {.dtype = bench_case.dtype, .k = bench_case.k, .k_blocks = kPublishBlocks},
      {&segment, 1}, memory_->workspace());
}

absl::Status BenchRunner::EnqueuePublishParts(const BenchCase& bench_case,
                                              const std::byte* scores) {
  const PublishParts parts = PartsOf(bench_case);
  WINNOW_RETURN_IF_ERROR(EnqueueBlockAmax(parts.block_amax, scores));
  WINNOW_RETURN_IF_ERROR(EnqueueTopK(parts.topk, scores));
  WINNOW_RETURN_IF_ERROR(
      EnqueueTopK(parts.block_topk, memory_->OutputOf<std::byte>(Output::kKeys)));
  return EnqueueSortBlocks(parts.sort_blocks, memory_->OutputOf(Output::kIndices));
}

absl::Status BenchRunner::Enqueue(const BenchCase& bench_case, int32_t launch) {
  stream_->set_dependent_launch(bench_case.chained);
  const std::byte* const input = memory_->InputOf(bench_case, launch);
  switch (bench_case.operation) {
    case Operation::kTopK:
    case Operation::kRaggedTopK:
    case Operation::kBlockTopK:
    case Operation::kConsume:
      return EnqueueTopK(bench_case, input);
    case Operation::kBlockAmax:
      return EnqueueBlockAmax(bench_case, input);
    case Operation::kSortBlocks:
      return EnqueueSortBlocks(bench_case, reinterpret_cast<const int32_t*>(input));
    case Operation::kPublish:
      return EnqueuePublish(bench_case, input);
    case Operation::kPublishFused: {
      cuda::ForceFusedPublish(true);
      const absl::Status status = EnqueuePublish(bench_case, input);
      cuda::ForceFusedPublish(false);
      return status;
    }
    case Operation::kPublishParts:
      return EnqueuePublishParts(bench_case, input);
  }
  return absl::InternalError("unknown operation");
}

absl::StatusOr<double> BenchRunner::FloorOf(const BenchCase& bench_case) {
  const int64_t read = std::max<int64_t>(16, bench_case.ReadBytes() / 16 * 16);
  const int64_t write = bench_case.WriteBytes() / 16 * 16;
  const Cache cache = bench_case.cache == Cache::kCold ? Cache::kCold : Cache::kWarm;
  const auto key = std::make_tuple(read, write, cache, bench_case.chained);
  if (const auto found = floors_.find(key); found != floors_.end()) return found->second;
  double best = 1e30;
  for (int shape = 0; shape < kFloorShapes; ++shape) {
    const auto enqueue = [&](int32_t launch) {
      return BenchStatus(
          Floor(stream_->get(), shape, bench_case.chained, memory_->InputOf(bench_case, launch),
                read, memory_->outputs(), write, timer_->sink()),
          "measuring the floor");
    };
    WINNOW_ASSIGN_OR_RETURN(const Timing timing,
                            timer_->Time(cache == Cache::kCold, {.replays = 7}, enqueue));
    best = std::min(best, timing.median_us);
  }
  return floors_[key] = best;
}

absl::StatusOr<Timing> BenchRunner::TimeProduced(const BenchCase& bench_case) {
  const int64_t bytes = bench_case.ReadBytes();
  const auto produce = [&](int32_t launch) {
    return BenchStatus(
        Produce(stream_->get(), memory_->InputOf(bench_case, launch), memory_->source(), bytes),
        "producing scores");
  };
  const auto both = [&](int32_t launch) -> absl::Status {
    WINNOW_RETURN_IF_ERROR(produce(launch));
    return Enqueue(bench_case, launch);
  };
  memory_->ForgetScores();
  WINNOW_ASSIGN_OR_RETURN(const Timing writer, timer_->Time(true, {}, produce));
  WINNOW_ASSIGN_OR_RETURN(const Timing together, timer_->Time(true, {}, both));
  return Timing{.median_us = together.median_us - writer.median_us,
                .min_us = together.min_us - writer.min_us};
}

absl::Status BenchRunner::PrepareAll(absl::Span<const BenchCase> set) {
  for (const BenchCase& bench_case : set) {
    WINNOW_RETURN_IF_ERROR(memory_->Prepare(bench_case));
  }
  const BenchCase& first = set.front();
  for (const BenchCase& bench_case : set) {
    if (memory_->Holds(bench_case) && bench_case.cache == first.cache &&
        bench_case.brief == first.brief &&
        (bench_case.cache != Cache::kProduced || set.size() == 1)) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(bench_case.ToString(), " cannot be timed in turns with ", first.ToString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Timing>> BenchRunner::TimeSet(absl::Span<const BenchCase> set) {
  const BenchCase& first = set.front();
  if (first.cache == Cache::kProduced) {
    WINNOW_ASSIGN_OR_RETURN(const Timing timing, TimeProduced(first));
    return std::vector<Timing>{timing};
  }
  return timer_->TimeInTurns(first.cache == Cache::kCold, {.replays = first.brief ? 5 : 15},
                             static_cast<int32_t>(set.size()), [&](int32_t graph, int32_t launch) {
                               return Enqueue(set[graph], launch);
                             });
}

absl::Status BenchRunner::CheckReport() {
  SegmentReport report;
  WINNOW_RETURN_IF_ERROR(device_->Copy(*stream_, &report, memory_->report(), sizeof(report)));
  WINNOW_RETURN_IF_ERROR(stream_->Synchronize());
  return StatusFromFault(report.fault);
}

absl::StatusOr<std::vector<BenchResult>> BenchRunner::Run(absl::Span<const BenchCase> set) {
  WINNOW_RETURN_IF_ERROR(PrepareAll(set));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Timing> timings, TimeSet(set));
  std::vector<BenchResult> results;
  for (size_t i = 0; i < set.size(); ++i) {
    results.push_back({.operation = timings[i]});
    if (set[i].brief) continue;
    WINNOW_ASSIGN_OR_RETURN(results.back().floor_us, FloorOf(set[i]));
  }
  WINNOW_RETURN_IF_ERROR(CheckReport());
  return results;
}

}  // namespace winnow::bench
