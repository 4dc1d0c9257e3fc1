#include "kernels/cpu/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/engine.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/plan.h"
#include "kernels/field_checks.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow {
namespace cpu {
namespace {

absl::Status CheckBytes(absl::string_view field, int64_t bytes) {
  if (bytes >= 0) return absl::OkStatus();
  return InvalidField(ErrorReason::kValueOutOfRange, field, bytes, "0 or more");
}

}  // namespace

CpuDevice::CpuDevice(int32_t threads, const RowKernels& kernels)
    : kernels_(kernels), pool_(threads) {
  info_.kind = "cpu";
  info_.name = ProcessorName();
  info_.multiprocessors = threads;
  info_.memory_bytes = PhysicalMemoryBytes();
  info_.l2_bytes = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 0);
  info_.pool_width = threads > 1 ? threads : 0;
  info_.pool_note = threads > 1 ? absl::StrCat(threads, " threads share long rows")
                                : "one thread: no row is shared";
  info_.host_memory = true;
  info_.instruction_set = kernels.name;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> CpuDevice::Allocate(MemoryKind, int64_t bytes) {
  return AllocateHostMemory(bytes, info_.memory_bytes);
}
absl::StatusOr<std::unique_ptr<Stream>> CpuDevice::CreateStream(StreamPriority) {
  return MakeHostStream();
}
absl::StatusOr<std::unique_ptr<Event>> CpuDevice::CreateEvent() { return MakeHostEvent(); }

absl::Status CpuDevice::Copy(Stream&, void* destination, const void* source, int64_t bytes) {
  WINNOW_RETURN_IF_ERROR(CheckBytes("bytes", bytes));
  if (bytes > 0) std::memmove(destination, source, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status CpuDevice::CopyRows(Stream&, void* destination, int64_t destination_pitch_bytes,
                                 const void* source, int64_t source_pitch_bytes,
                                 int64_t width_bytes, int64_t height) {
  WINNOW_RETURN_IF_ERROR(CheckBytes("width_bytes", width_bytes));
  WINNOW_RETURN_IF_ERROR(CheckBytes("height", height));
  if (width_bytes == 0) return absl::OkStatus();
  for (int64_t row = 0; row < height; ++row) {
    std::memmove(static_cast<char*>(destination) + row * destination_pitch_bytes,
                 static_cast<const char*>(source) + row * source_pitch_bytes,
                 static_cast<size_t>(width_bytes));
  }
  return absl::OkStatus();
}

absl::Status CpuDevice::Fill(Stream&, void* destination, int value, int64_t bytes) {
  WINNOW_RETURN_IF_ERROR(CheckBytes("bytes", bytes));
  if (bytes > 0) std::memset(destination, value, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

int64_t CpuDevice::TopKWorkspaceBytes(const TopKParams&, absl::Span<const TopKSegment>) const {
  return 0;
}
int64_t CpuDevice::PublishWorkspaceBytes(const PublishParams&,
                                         absl::Span<const PublishSegment>) const {
  return 0;
}

absl::Status CpuDevice::TopK(Stream&, const TopKParams& params,
                             absl::Span<const TopKSegment> segments, absl::Span<std::byte>) {
  WINNOW_RETURN_IF_ERROR(CheckTopK(params, segments));
  RunTopK({kernels_, pool_}, params, segments);
  return absl::OkStatus();
}

absl::Status CpuDevice::BlockAmax(Stream&, const BlockAmaxParams& params,
                                  absl::Span<const BlockAmaxSegment> segments) {
  WINNOW_RETURN_IF_ERROR(CheckBlockAmax(params, segments));
  RunBlockAmax({kernels_, pool_}, params, segments);
  return absl::OkStatus();
}

absl::Status CpuDevice::SortCandidateBlocks(Stream&, const SortBlocksParams& params,
                                            absl::Span<const SortBlocksSegment> segments) {
  WINNOW_RETURN_IF_ERROR(CheckSortBlocks(params, segments));
  RunSortBlocks({kernels_, pool_}, params, segments);
  return absl::OkStatus();
}

absl::Status CpuDevice::PublishCandidates(Stream&, const PublishParams& params,
                                          absl::Span<const PublishSegment> segments,
                                          absl::Span<std::byte>) {
  WINNOW_RETURN_IF_ERROR(CheckPublish(params, segments));
  RunPublish({kernels_, pool_}, params, segments);
  return absl::OkStatus();
}

absl::Status CpuDevice::PlanTopK(Stream&, const PlanParams& params, const int32_t* lengths,
                                 int32_t rows, std::byte* plan) {
  return HostPlan(params, lengths, rows, plan);
}

absl::Status CpuDevice::HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                                 std::byte* plan) const {
  WINNOW_RETURN_IF_ERROR(CheckPlan(params, rows));
  WINNOW_RETURN_IF_ERROR(internal::CheckPointer("lengths", lengths, 4, true));
  WINNOW_RETURN_IF_ERROR(internal::CheckPointer("plan", plan, alignof(PlanHeader), true));
  WritePlan(params, pool_.threads(), lengths, rows, plan);
  return absl::OkStatus();
}

absl::StatusOr<int32_t> CpuDevice::ProbeOccupancy(int32_t, int32_t) {
  return MakeError(absl::StatusCode::kUnimplemented,
                   "the cpu backend has no clusters; ask a cuda backend",
                   {.reason = ErrorReason::kNotInBuild, .field = "cluster_size"});
}

}  // namespace cpu

absl::StatusOr<std::unique_ptr<Device>> OpenCpuDevice(const CpuDeviceOptions& options) {
  if (options.threads < 0 || options.threads > 1024) {
    return InvalidField(ErrorReason::kValueOutOfRange, "threads", options.threads, "0 to 1024");
  }
  const int32_t threads = options.threads == 0 ? cpu::UsableCores() : options.threads;
  return std::make_unique<cpu::CpuDevice>(threads, cpu::BestRowKernels());
}

}  // namespace winnow
