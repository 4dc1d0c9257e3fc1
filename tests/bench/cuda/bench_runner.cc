#include "tests/bench/cuda/bench_runner.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/launch/topk_launch.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::bench {
namespace {

constexpr int64_t kPoolBytes = int64_t{4} << 30;
constexpr int64_t kOutBytes = int64_t{256} << 20;
constexpr int64_t kFlushBytes = int64_t{256} << 20;
constexpr int64_t kWorkspaceBytes = int64_t{512} << 20;
constexpr int32_t kTableColumns = kMaxColumns / kBenchPageSize;
constexpr int32_t kTableRows = 1024;
// Apart enough that 32 launches span 80 MB of addresses even for tiny rows; L2 is flushed anyway.
constexpr int64_t kMinStep = int64_t{5} << 19;

}  // namespace

absl::StatusOr<std::unique_ptr<BenchRunner>> BenchRunner::Create(int32_t ordinal) {
  std::unique_ptr<BenchRunner> runner(new BenchRunner());
  WINNOW_ASSIGN_OR_RETURN(runner->device_, cuda::CudaDevice::Open(ordinal));
  WINNOW_ASSIGN_OR_RETURN(auto stream, runner->device_->CreateStream(StreamPriority::kNormal));
  runner->stream_.reset(static_cast<cuda::CudaStream*>(stream.release()));
  WINNOW_ASSIGN_OR_RETURN(auto timer, GraphTimer::Create(runner->stream_->get(), kFlushBytes));
  runner->timer_ = std::make_unique<GraphTimer>(std::move(timer));
  WINNOW_RETURN_IF_ERROR(runner->Allocate());
  return runner;
}

absl::StatusOr<std::byte*> BenchRunner::Take(int64_t bytes) {
  WINNOW_ASSIGN_OR_RETURN(auto memory, device_->Allocate(MemoryKind::kDevice, bytes));
  memory_.push_back(std::move(memory));
  return memory_.back()->data();
}

absl::Status BenchRunner::Allocate() {
  WINNOW_ASSIGN_OR_RETURN(pool_, Take(kPoolBytes));
  WINNOW_ASSIGN_OR_RETURN(source_, Take(kProducerSourceBytes));
  WINNOW_ASSIGN_OR_RETURN(out_, Take(kOutBytes));
  WINNOW_ASSIGN_OR_RETURN(std::byte * pages, Take(int64_t{kTableRows} * kTableColumns * 4));
  WINNOW_ASSIGN_OR_RETURN(std::byte * lengths, Take(kMaxRows * 4));
  WINNOW_ASSIGN_OR_RETURN(std::byte * starts, Take(kMaxRows * 4));
  WINNOW_ASSIGN_OR_RETURN(std::byte * report, Take(sizeof(SegmentReport)));
  WINNOW_ASSIGN_OR_RETURN(std::byte * workspace, Take(kWorkspaceBytes));
  pages_ = reinterpret_cast<int32_t*>(pages);
  lengths_ = reinterpret_cast<int32_t*>(lengths);
  starts_ = reinterpret_cast<int32_t*>(starts);
  report_ = reinterpret_cast<SegmentReport*>(report);
  workspace_ = absl::MakeSpan(workspace, kWorkspaceBytes);
  WINNOW_RETURN_IF_ERROR(device_->Fill(*stream_, report, 0, sizeof(SegmentReport)));
  std::vector<int32_t> host_starts(kMaxRows);
  for (int32_t row = 0; row < kMaxRows; ++row) host_starts[row] = row % 8;
  WINNOW_RETURN_IF_ERROR(device_->Copy(*stream_, starts_, host_starts.data(), kMaxRows * 4));
  WINNOW_RETURN_IF_ERROR(BenchStatus(
      FillPages(stream_->get(), pages_, int64_t{kTableRows} * kTableColumns, 1 << 20), "filling"));
  return stream_->Synchronize();
}

absl::Status BenchRunner::SetText(absl::Span<const float> text) {
  const auto bytes = static_cast<int64_t>(text.size() * sizeof(float));
  WINNOW_ASSIGN_OR_RETURN(std::byte * memory, Take(bytes));
  text_ = reinterpret_cast<float*>(memory);
  text_count_ = static_cast<int64_t>(text.size());
  WINNOW_RETURN_IF_ERROR(device_->Copy(*stream_, text_, text.data(), bytes));
  return stream_->Synchronize();
}

absl::Status BenchRunner::FillPool(const BenchCase& bench_case) {
  if (bench_case.data == Data::kText) {
    if (text_count_ == 0) return absl::FailedPreconditionError("real scores need --text");
    return BenchStatus(
        FillText(stream_->get(), reinterpret_cast<float*>(pool_), kPoolBytes, text_, text_count_),
        "filling");
  }
  for (const auto& [at, bytes] : {std::pair{pool_, kPoolBytes}, {source_, kProducerSourceBytes}}) {
    WINNOW_RETURN_IF_ERROR(BenchStatus(
        FillScores(stream_->get(), at, bytes, bench_case.dtype, bench_case.data), "filling"));
  }
  return absl::OkStatus();
}

absl::Status BenchRunner::Prepare(const BenchCase& bench_case) {
  stream_->set_dependent_launch(bench_case.chained);
  const bool ids = bench_case.operation == Operation::kSortBlocks;
  const std::tuple<DType, Data, bool> content = {bench_case.dtype, bench_case.data, ids};
  if (ids) {
    const int32_t blocks = bench_case.columns / kDefaultBlockSize;
    if (content != pool_content_ || filled_ids_ != std::pair{bench_case.k, blocks}) {
      const int64_t copies = 32;
      WINNOW_RETURN_IF_ERROR(
          BenchStatus(FillBlockIds(stream_->get(), reinterpret_cast<int32_t*>(pool_),
                                   static_cast<int32_t>(copies * kTableRows), bench_case.k, blocks),
                      "filling"));
      filled_ids_ = {bench_case.k, blocks};
    }
  } else if (content != pool_content_) {
    WINNOW_RETURN_IF_ERROR(FillPool(bench_case));
  }
  pool_content_ = content;
  // A ragged row starts up to 7 columns in.
  const int32_t length =
      bench_case.columns - (bench_case.operation == Operation::kRaggedTopK ? 8 : 0);
  if (length != filled_length_) {
    const std::vector<int32_t> lengths(kMaxRows, length);
    WINNOW_RETURN_IF_ERROR(device_->Copy(*stream_, lengths_, lengths.data(), kMaxRows * 4));
    filled_length_ = length;
  }
  return stream_->Synchronize();
}

std::byte* BenchRunner::ScoresOf(const BenchCase& bench_case, int32_t launch) const {
  if (bench_case.cache == Cache::kWarm) return pool_;
  const int64_t bytes =
      static_cast<int64_t>(bench_case.rows) * (bench_case.operation == Operation::kSortBlocks
                                                   ? int64_t{bench_case.k} * 4
                                                   : bench_case.columns * SizeOf(bench_case.dtype));
  const int64_t step = std::max(bytes, kMinStep);
  const bool ids = bench_case.operation == Operation::kSortBlocks;
  const int64_t filled = ids ? int64_t{32} * kTableRows * bench_case.k * 4 : kPoolBytes;
  const int64_t places = std::max<int64_t>(1, (filled - bytes) / step + 1);
  return pool_ + (launch % places) * step;
}

PageTransform BenchRunner::Pages(const BenchCase& bench_case, int32_t page_size) const {
  return {.page_table = pages_,
          .row_stride = kTableColumns,
          .table_rows = kTableRows,
          .table_columns = kTableColumns,
          .page_size = page_size};
}

absl::Status BenchRunner::EnqueueTopK(const BenchCase& bench_case, std::byte* scores) {
  const bool ragged = bench_case.operation == Operation::kRaggedTopK;
  TopKSegment segment;
  segment.scores = scores;
  segment.row_stride = segment.columns = bench_case.columns;
  segment.rows = bench_case.rows;
  segment.lengths = lengths_;
  segment.max_length = filled_length_;
  segment.report = report_;
  auto* out = reinterpret_cast<int32_t*>(out_);
  if (ragged) {
    segment.row_starts = segment.index_offsets = starts_;
    segment.indices = out;
    segment.indices_row_stride = bench_case.k;
  } else {
    segment.pages = Pages(bench_case, kBenchPageSize);
    segment.slots = out;
    segment.slots_row_stride = bench_case.k;
  }
  const TopKParams params = {
      .dtype = bench_case.dtype, .k = bench_case.k, .deterministic = bench_case.deterministic};
  if (!bench_case.policy.has_value()) {
    return device_->TopK(*stream_, params, {&segment, 1}, workspace_);
  }
  const cuda::LaunchContext context = {.traits = device_->traits(),
                                       .stream = stream_->get(),
                                       .dependent_launch = bench_case.chained};
  if (cuda::TopKWorkspaceBytes(*bench_case.policy, params, {&segment, 1}) > kWorkspaceBytes) {
    return absl::UnimplementedError("the policy needs more workspace than there is");
  }
  return BenchStatus(
      cuda::LaunchTopK(context, *bench_case.policy, params, {&segment, 1}, workspace_),
      "launching a top-k");
}

absl::Status BenchRunner::EnqueueBlockAmax(const BenchCase& bench_case, std::byte* scores) {
  const int32_t columns = bench_case.columns / kDefaultBlockSize;
  const BlockAmaxSegment segment = {.scores = scores,
                                    .row_stride = bench_case.columns,
                                    .rows = bench_case.rows,
                                    .columns = bench_case.columns,
                                    .lengths = lengths_,
                                    .keys = reinterpret_cast<float*>(out_),
                                    .keys_row_stride = columns,
                                    .keys_columns = columns,
                                    .report = report_};
  return device_->BlockAmax(*stream_, {.dtype = bench_case.dtype}, {&segment, 1});
}

absl::Status BenchRunner::EnqueueSortBlocks(const BenchCase& bench_case, std::byte* scores) {
  auto* out = reinterpret_cast<int32_t*>(out_);
  const SortBlocksSegment segment = {.blocks = reinterpret_cast<int32_t*>(scores),
                                     .blocks_row_stride = bench_case.k,
                                     .rows = bench_case.rows,
                                     .max_length = bench_case.columns,
                                     .lengths = lengths_,
                                     .pages = Pages(bench_case, kBenchPageSize),
                                     .out_blocks = out,
                                     .block_slots = out + kOutBytes / 8,
                                     .out_blocks_row_stride = bench_case.k,
                                     .block_slots_row_stride = bench_case.k,
                                     .report = report_};
  return device_->SortCandidateBlocks(*stream_, {.width = bench_case.k}, {&segment, 1});
}

absl::Status BenchRunner::EnqueuePublish(const BenchCase& bench_case, std::byte* scores) {
  auto* out = reinterpret_cast<int32_t*>(out_);
  int32_t* second_out = out + kOutBytes / 8;
  PublishSegment segment;
  segment.scores = scores;
  segment.row_stride = segment.columns = bench_case.columns;
  segment.rows = bench_case.rows;
  segment.lengths = lengths_;
  segment.pages = Pages(bench_case, kBenchPageSize);
  segment.slots = out;
  segment.blocks = second_out;
  segment.block_slots = second_out + kOutBytes / 16;
  segment.slots_row_stride = bench_case.k;
  segment.blocks_row_stride = segment.block_slots_row_stride = 2048;
  segment.max_length = filled_length_;
  segment.report = report_;
  return device_->PublishCandidates(*stream_, {.dtype = bench_case.dtype, .k = bench_case.k},
                                    {&segment, 1}, workspace_);
}

absl::Status BenchRunner::Enqueue(const BenchCase& bench_case, int32_t launch) {
  std::byte* scores = ScoresOf(bench_case, launch);
  switch (bench_case.operation) {
    case Operation::kTopK:
    case Operation::kRaggedTopK:
      return EnqueueTopK(bench_case, scores);
    case Operation::kBlockAmax:
      return EnqueueBlockAmax(bench_case, scores);
    case Operation::kSortBlocks:
      return EnqueueSortBlocks(bench_case, scores);
    case Operation::kPublish:
      return EnqueuePublish(bench_case, scores);
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
      return BenchStatus(Floor(stream_->get(), shape, bench_case.chained,
                               ScoresOf(bench_case, launch), read, out_, write, timer_->sink()),
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
    return BenchStatus(Produce(stream_->get(), ScoresOf(bench_case, launch), source_, bytes),
                       "producing scores");
  };
  const auto both = [&](int32_t launch) -> absl::Status {
    WINNOW_RETURN_IF_ERROR(produce(launch));
    return Enqueue(bench_case, launch);
  };
  pool_content_ = {DType::kUnspecified, Data::kNormal, false};  // the pool is overwritten
  WINNOW_ASSIGN_OR_RETURN(const Timing writer, timer_->Time(true, {}, produce));
  WINNOW_ASSIGN_OR_RETURN(const Timing together, timer_->Time(true, {}, both));
  return Timing{.median_us = together.median_us - writer.median_us,
                .min_us = together.min_us - writer.min_us};
}

absl::StatusOr<BenchResult> BenchRunner::Run(const BenchCase& bench_case) {
  WINNOW_RETURN_IF_ERROR(Prepare(bench_case));
  BenchResult result;
  if (bench_case.cache == Cache::kProduced) {
    WINNOW_ASSIGN_OR_RETURN(result.operation, TimeProduced(bench_case));
  } else {
    WINNOW_ASSIGN_OR_RETURN(
        result.operation,
        timer_->Time(bench_case.cache == Cache::kCold, {.replays = bench_case.brief ? 5 : 15},
                     [&](int32_t launch) { return Enqueue(bench_case, launch); }));
  }
  if (!bench_case.brief) {
    WINNOW_ASSIGN_OR_RETURN(result.floor_us, FloorOf(bench_case));
  }
  SegmentReport report;
  WINNOW_RETURN_IF_ERROR(device_->Copy(*stream_, &report, report_, sizeof(report)));
  WINNOW_RETURN_IF_ERROR(stream_->Synchronize());
  WINNOW_RETURN_IF_ERROR(StatusFromFault(report.fault));
  return result;
}

}  // namespace winnow::bench
