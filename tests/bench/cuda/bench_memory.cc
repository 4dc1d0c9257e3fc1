#include "tests/bench/cuda/bench_memory.h"

#include <algorithm>

#include "tests/bench/cuda/graph_timer.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::bench {
namespace {

constexpr int64_t kWorkspaceBytes = int64_t{512} << 20;
constexpr int32_t kTableColumns = kMaxColumns / kBenchPageSize;
constexpr int64_t kTableEntries = int64_t{BenchMemory::kTableRows} * kTableColumns;
constexpr int64_t kIdRows = int64_t{32} * BenchMemory::kTableRows;
constexpr int64_t kIdsBytes = kIdRows * kMaxK * 4;
// The floor of a sort also reads, behind the ids, as much as the page table's sectors: at most one
// of 32 bytes for each id of 1,024 rows.
constexpr int64_t kBehindIdsBytes = int64_t{BenchMemory::kTableRows} * kMaxK * 32;
// Apart enough that 32 launches span 80 MB of addresses even for tiny rows; L2 is flushed anyway.
constexpr int64_t kMinStep = int64_t{5} << 19;
constexpr int kOutputs = static_cast<int>(Output::kBlockSlots) + 1;

}  // namespace

absl::StatusOr<std::unique_ptr<BenchMemory>> BenchMemory::Create(cuda::CudaDevice& device,
                                                                 cuda::CudaStream& stream) {
  std::unique_ptr<BenchMemory> memory(new BenchMemory(device, stream));
  WINNOW_RETURN_IF_ERROR(memory->Allocate());
  return memory;
}

absl::StatusOr<std::byte*> BenchMemory::Take(int64_t bytes) {
  WINNOW_ASSIGN_OR_RETURN(auto memory, device_.Allocate(MemoryKind::kDevice, bytes));
  memory_.push_back(std::move(memory));
  return memory_.back()->data();
}

absl::Status BenchMemory::Allocate() {
  WINNOW_ASSIGN_OR_RETURN(pool_, Take(kPoolBytes));
  WINNOW_ASSIGN_OR_RETURN(ids_, Take(kIdsBytes + kBehindIdsBytes));
  WINNOW_ASSIGN_OR_RETURN(source_, Take(kProducerSourceBytes));
  WINNOW_ASSIGN_OR_RETURN(outputs_, Take(kOutputs * kOutputBytes));
  WINNOW_ASSIGN_OR_RETURN(std::byte * pages, Take(kTableEntries * 4));
  WINNOW_ASSIGN_OR_RETURN(std::byte * starts, Take(kMaxRows * 4));
  WINNOW_ASSIGN_OR_RETURN(std::byte * report, Take(sizeof(SegmentReport)));
  WINNOW_ASSIGN_OR_RETURN(std::byte * workspace, Take(kWorkspaceBytes));
  pages_ = reinterpret_cast<int32_t*>(pages);
  starts_ = reinterpret_cast<int32_t*>(starts);
  report_ = reinterpret_cast<SegmentReport*>(report);
  workspace_ = absl::MakeSpan(workspace, kWorkspaceBytes);
  WINNOW_RETURN_IF_ERROR(device_.Fill(stream_, report, 0, sizeof(SegmentReport)));
  WINNOW_RETURN_IF_ERROR(device_.Fill(stream_, ids_ + kIdsBytes, 0, kBehindIdsBytes));
  std::vector<int32_t> host_starts(kMaxRows);
  for (int32_t row = 0; row < kMaxRows; ++row) host_starts[row] = row % 8;
  WINNOW_RETURN_IF_ERROR(device_.Copy(stream_, starts_, host_starts.data(), kMaxRows * 4));
  WINNOW_RETURN_IF_ERROR(
      BenchStatus(FillPages(stream_.get(), pages_, kTableEntries, 1 << 20), "filling"));
  return stream_.Synchronize();
}

absl::Status BenchMemory::SetText(absl::Span<const float> text) {
  const auto bytes = static_cast<int64_t>(text.size() * sizeof(float));
  WINNOW_ASSIGN_OR_RETURN(std::byte * memory, Take(bytes));
  text_ = reinterpret_cast<float*>(memory);
  text_count_ = static_cast<int64_t>(text.size());
  WINNOW_RETURN_IF_ERROR(device_.Copy(stream_, text_, text.data(), bytes));
  return stream_.Synchronize();
}

bool BenchMemory::HoldsScores(const BenchCase& bench_case) const {
  const auto& [dtype, data, seed] = pool_content_;
  // Keys are float32, also beside scores of bfloat16: two of these read as one float32 are normal
  // where the upper is.
  const bool any_dtype =
      bench_case.operation == Operation::kBlockTopK && bench_case.data == Data::kNormal;
  return data == bench_case.data && seed == bench_case.seed &&
         (dtype == bench_case.dtype || (any_dtype && dtype != DType::kUnspecified));
}

bool BenchMemory::HoldsIds(const BenchCase& bench_case) const {
  return ids_content_ == std::pair{bench_case.k, bench_case.columns / kDefaultBlockSize};
}

bool BenchMemory::Holds(const BenchCase& bench_case) const {
  return bench_case.operation == Operation::kSortBlocks ? HoldsIds(bench_case)
                                                        : HoldsScores(bench_case);
}

void BenchMemory::ForgetScores() { pool_content_ = {DType::kUnspecified, Data::kNormal, 0}; }

absl::Status BenchMemory::FillScorePool(const BenchCase& bench_case) {
  pool_content_ = {bench_case.dtype, bench_case.data, bench_case.seed};
  if (bench_case.data == Data::kText) {
    if (text_count_ == 0) return absl::FailedPreconditionError("real scores need --text");
    return BenchStatus(
        FillText(stream_.get(), reinterpret_cast<float*>(pool_), kPoolBytes, text_, text_count_),
        "filling");
  }
  for (const auto& [at, bytes] : {std::pair{pool_, kPoolBytes}, {source_, kProducerSourceBytes}}) {
    WINNOW_RETURN_IF_ERROR(BenchStatus(
        FillScores(stream_.get(), at, bytes, bench_case.dtype, bench_case.data, bench_case.seed),
        "filling"));
  }
  return absl::OkStatus();
}

absl::Status BenchMemory::MakeLengths(int32_t length) {
  if (lengths_.contains(length)) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(std::byte * memory, Take(kMaxRows * 4));
  const std::vector<int32_t> lengths(kMaxRows, length);
  WINNOW_RETURN_IF_ERROR(device_.Copy(stream_, memory, lengths.data(), kMaxRows * 4));
  lengths_[length] = reinterpret_cast<int32_t*>(memory);
  return stream_.Synchronize();
}

absl::Status BenchMemory::Prepare(const BenchCase& bench_case) {
  WINNOW_RETURN_IF_ERROR(MakeLengths(bench_case.Length()));
  if (bench_case.operation == Operation::kPublishParts) {
    WINNOW_RETURN_IF_ERROR(MakeLengths(PartsOf(bench_case).block_topk.Length()));
  }
  if (Holds(bench_case)) return absl::OkStatus();
  if (bench_case.operation == Operation::kSortBlocks) {
    const int32_t blocks = bench_case.columns / kDefaultBlockSize;
    ids_content_ = {bench_case.k, blocks};
    WINNOW_RETURN_IF_ERROR(
        BenchStatus(FillBlockIds(stream_.get(), reinterpret_cast<int32_t*>(ids_),
                                 static_cast<int32_t>(kIdRows), bench_case.k, blocks),
                    "filling"));
  } else {
    WINNOW_RETURN_IF_ERROR(FillScorePool(bench_case));
  }
  return stream_.Synchronize();
}

std::byte* BenchMemory::InputOf(const BenchCase& bench_case, int32_t launch) const {
  const bool ids = bench_case.operation == Operation::kSortBlocks;
  std::byte* const base = ids ? ids_ : pool_;
  if (bench_case.cache == Cache::kWarm) return base;
  const int64_t row_bytes =
      ids ? int64_t{bench_case.k} * 4 : int64_t{bench_case.columns} * SizeOf(bench_case.dtype);
  const int64_t bytes = bench_case.rows * row_bytes;
  const int64_t step = std::max(bytes, kMinStep);
  const int64_t filled = ids ? kIdRows * bench_case.k * 4 : kPoolBytes;
  const int64_t places = std::max<int64_t>(1, (filled - bytes) / step + 1);
  return base + (launch % places) * step;
}

PageTransform BenchMemory::PagesOf(const BenchCase& bench_case) const {
  const int32_t pages = bench_case.columns / bench_case.page_size;
  // The slots of a row's candidate blocks lie side by side; an engine's table has room to grow.
  const int32_t columns =
      bench_case.operation == Operation::kConsume ? pages : std::max(pages, kTableColumns);
  return {.page_table = pages_,
          .row_stride = columns,
          .table_rows = static_cast<int32_t>(
              std::min<int64_t>(kTableRows, kTableEntries / std::max(columns, 1))),
          .table_columns = columns,
          .page_size = bench_case.page_size};
}

}  // namespace winnow::bench
