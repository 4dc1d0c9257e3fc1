#include "kernels/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/launch/block_amax_launch.h"
#include "kernels/cuda/launch/occupancy_probe.h"
#include "kernels/cuda/launch/plan_launch.h"
#include "kernels/cuda/launch/publish_select_launch.h"
#include "kernels/cuda/launch/sort_blocks_launch.h"
#include "kernels/cuda/launch/topk_launch.h"
#include "kernels/cuda/publish_steps.h"
#include "kernels/cuda/runtime/device_scope.h"
#include "kernels/cuda/runtime/event.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/field_checks.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cuda {
namespace {

absl::Status CheckWorkspace(absl::Span<std::byte> workspace, int64_t needed) {
  const int64_t given = static_cast<int64_t>(workspace.size());
  if (given < needed) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     absl::StrCat("the workspace has ", CountText(given, "byte"),
                                  " but this operation needs ", needed),
                     {.reason = ErrorReason::kWorkspaceTooSmall,
                      .field = "workspace",
                      .value = absl::StrCat(given),
                      .limit = absl::StrCat("at least ", needed)});
  }
  if (needed > 0 && reinterpret_cast<uintptr_t>(workspace.data()) % 256 != 0) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "the workspace is not aligned to 256 bytes",
                     {.reason = ErrorReason::kAlignmentInvalid,
                      .field = "workspace",
                      .limit = "a multiple of 256 bytes"});
  }
  return absl::OkStatus();
}

cudaStream_t Native(Stream& stream) { return static_cast<CudaStream&>(stream).get(); }

}  // namespace

CudaDevice::~CudaDevice() = default;

LaunchContext CudaDevice::ContextOf(Stream& stream) const {
  const auto& cuda_stream = static_cast<CudaStream&>(stream);
  return {.traits = traits_,
          .stream = cuda_stream.get(),
          .dependent_launch = traits_.dependent_launch && cuda_stream.dependent_launch()};
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> CudaDevice::Allocate(MemoryKind kind, int64_t bytes) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory,
                          CudaMemory::Allocate(health_, kind, bytes));
  return memory;
}

absl::StatusOr<std::unique_ptr<Stream>> CudaDevice::CreateStream(StreamPriority priority) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, CudaStream::Create(health_, priority));
  return stream;
}

absl::StatusOr<std::unique_ptr<Event>> CudaDevice::CreateEvent() {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, CudaEvent::Create(health_));
  return event;
}

absl::Status CudaDevice::Copy(Stream& stream, void* destination, const void* source,
                              int64_t bytes) {
  if (bytes < 0) return InvalidField(ErrorReason::kValueOutOfRange, "bytes", bytes, "0 or more");
  if (bytes == 0) return absl::OkStatus();
  const DeviceScope scope(info_.ordinal);
  return health_->Check(
      cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, Native(stream)), "copying");
}

absl::Status CudaDevice::CopyRows(Stream& stream, void* destination,
                                  int64_t destination_pitch_bytes, const void* source,
                                  int64_t source_pitch_bytes, int64_t width_bytes, int64_t height) {
  if (width_bytes < 0 || height < 0) {
    return InvalidField(ErrorReason::kValueOutOfRange, width_bytes < 0 ? "width_bytes" : "height",
                        width_bytes < 0 ? width_bytes : height, "0 or more");
  }
  if (width_bytes == 0 || height == 0) return absl::OkStatus();
  const DeviceScope scope(info_.ordinal);
  return health_->Check(
      cudaMemcpy2DAsync(destination, destination_pitch_bytes, source, source_pitch_bytes,
                        width_bytes, height, cudaMemcpyDefault, Native(stream)),
      "copying rows");
}

absl::Status CudaDevice::Fill(Stream& stream, void* destination, int value, int64_t bytes) {
  if (bytes < 0) return InvalidField(ErrorReason::kValueOutOfRange, "bytes", bytes, "0 or more");
  if (bytes == 0) return absl::OkStatus();
  const DeviceScope scope(info_.ordinal);
  return health_->Check(cudaMemsetAsync(destination, value, bytes, Native(stream)), "filling");
}

absl::Status CudaDevice::Healthy() {
  WINNOW_RETURN_IF_ERROR(health_->LostStatus());
  const DeviceScope scope(info_.ordinal);
  return health_->Check(cudaStreamQuery(probe_stream_->get()), "asking the device");
}

int64_t CudaDevice::TopKWorkspaceBytes(const TopKParams& params,
                                       absl::Span<const TopKSegment> segments) const {
  return cuda::TopKWorkspaceBytes(traits_, params, segments);
}

int64_t CudaDevice::PublishWorkspaceBytes(const PublishParams& params,
                                          absl::Span<const PublishSegment> segments) const {
  const PublishSteps steps = MakePublishSteps(params, segments, nullptr, MayFuse());
  return steps.intermediate_bytes + SelectionBytes(steps);
}

bool CudaDevice::MayFuse() const { return publish_select_fits_ && MayFusePublish(); }

int64_t CudaDevice::SelectionBytes(const PublishSteps& steps) const {
  if (steps.fused) return PublishSelectWorkspaceBytes(steps.tokens, steps.blocks);
  return std::max(steps.tokens.empty() ? 0 : TopKWorkspaceBytes(steps.token_params, steps.tokens),
                  steps.blocks.empty() ? 0 : TopKWorkspaceBytes(steps.block_params, steps.blocks));
}

absl::Status CudaDevice::TopK(Stream& stream, const TopKParams& params,
                              absl::Span<const TopKSegment> segments,
                              absl::Span<std::byte> workspace) {
  WINNOW_RETURN_IF_ERROR(CheckTopK(params, segments));
  WINNOW_RETURN_IF_ERROR(CheckWorkspace(workspace, TopKWorkspaceBytes(params, segments)));
  const DeviceScope scope(info_.ordinal);
  return health_->Check(LaunchTopK(ContextOf(stream), params, segments, workspace),
                        "launching top-k");
}

absl::Status CudaDevice::BlockAmax(Stream& stream, const BlockAmaxParams& params,
                                   absl::Span<const BlockAmaxSegment> segments) {
  WINNOW_RETURN_IF_ERROR(CheckBlockAmax(params, segments));
  const DeviceScope scope(info_.ordinal);
  const auto work_of = [&](int64_t i) { return BlockAmaxWork{.segment = segments[i]}; };
  return health_->Check(
      LaunchBlockAmax(ContextOf(stream), params, static_cast<int64_t>(segments.size()), work_of),
      "launching block max");
}

absl::Status CudaDevice::SortCandidateBlocks(Stream& stream, const SortBlocksParams& params,
                                             absl::Span<const SortBlocksSegment> segments) {
  WINNOW_RETURN_IF_ERROR(CheckSortBlocks(params, segments));
  const DeviceScope scope(info_.ordinal);
  const auto work_of = [&](int64_t i) { return SortBlocksWork{.segment = segments[i]}; };
  return health_->Check(
      LaunchSortBlocks(ContextOf(stream), params, static_cast<int64_t>(segments.size()), work_of),
      "launching block sort");
}

absl::Status CudaDevice::SelectPublished(Stream& stream, const PublishSteps& steps,
                                         absl::Span<std::byte> workspace) {
  if (steps.fused) {
    return health_->Check(LaunchPublishSelect(ContextOf(stream), steps.token_params, steps.tokens,
                                              steps.block_params, steps.blocks, workspace),
                          "launching both selections of a publish");
  }
  if (!steps.tokens.empty()) {
    WINNOW_RETURN_IF_ERROR(TopK(stream, steps.token_params, steps.tokens, workspace));
  }
  if (steps.blocks.empty()) return absl::OkStatus();
  return TopK(stream, steps.block_params, steps.blocks, workspace);
}

absl::Status CudaDevice::PublishCandidates(Stream& stream, const PublishParams& params,
                                           absl::Span<const PublishSegment> segments,
                                           absl::Span<std::byte> workspace) {
  WINNOW_RETURN_IF_ERROR(CheckPublish(params, segments));
  const PublishSteps steps = MakePublishSteps(params, segments, workspace.data(), MayFuse());
  WINNOW_RETURN_IF_ERROR(
      CheckWorkspace(workspace, steps.intermediate_bytes + SelectionBytes(steps)));
  const DeviceScope scope(info_.ordinal);
  const LaunchContext context = ContextOf(stream);
  const auto amax_of = [&](int64_t i) { return steps.amax[i]; };
  WINNOW_RETURN_IF_ERROR(health_->Check(
      LaunchBlockAmax(context, steps.amax_params, static_cast<int64_t>(steps.amax.size()), amax_of),
      "launching block max"));
  WINNOW_RETURN_IF_ERROR(
      SelectPublished(stream, steps, workspace.subspan(steps.intermediate_bytes)));
  const auto sort_of = [&](int64_t i) { return steps.sorted[i]; };
  return health_->Check(LaunchSortBlocks(context, steps.sort_params,
                                         static_cast<int64_t>(steps.sorted.size()), sort_of),
                        "launching block sort");
}

absl::Status CudaDevice::PlanTopK(Stream& stream, const PlanParams& params, const int32_t* lengths,
                                  int32_t rows, std::byte* plan) {
  WINNOW_RETURN_IF_ERROR(CheckPlan(params, rows));
  WINNOW_RETURN_IF_ERROR(internal::CheckPointer("lengths", lengths, 4, true));
  WINNOW_RETURN_IF_ERROR(internal::CheckPointer("plan", plan, alignof(PlanHeader), true));
  const DeviceScope scope(info_.ordinal);
  return health_->Check(
      LaunchPlan(ContextOf(stream), MakePlanRules(traits_, params), lengths, rows, plan),
      "launching a plan");
}

absl::Status CudaDevice::HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                                  std::byte* plan) const {
  WINNOW_RETURN_IF_ERROR(CheckPlan(params, rows));
  WINNOW_RETURN_IF_ERROR(internal::CheckPointer("lengths", lengths, 4, true));
  WINNOW_RETURN_IF_ERROR(internal::CheckPointer("plan", plan, alignof(PlanHeader), true));
  WriteHostPlan(MakePlanRules(traits_, params), lengths, rows, plan);
  return absl::OkStatus();
}

absl::StatusOr<int32_t> CudaDevice::ProbeOccupancy(int32_t cluster_size, int32_t blocks_per_sm) {
  if (cluster_size < 1 || cluster_size > 16 || (cluster_size & (cluster_size - 1)) != 0) {
    return InvalidField(ErrorReason::kValueOutOfRange, "cluster_size", cluster_size,
                        "1, 2, 4, 8 or 16");
  }
  if (blocks_per_sm < 1 || blocks_per_sm > 32) {
    return InvalidField(ErrorReason::kValueOutOfRange, "blocks_per_sm", blocks_per_sm, "1 to 32");
  }
  const DeviceScope scope(info_.ordinal);
  int32_t clusters = 0;
  WINNOW_RETURN_IF_ERROR(
      health_->Check(ResidentClusters(traits_, cluster_size, blocks_per_sm, clusters),
                     "asking for the occupancy"));
  if (clusters > 0) return clusters;
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("no cluster of ", CountText(cluster_size, "block"), " fits on cuda device ",
                   info_.ordinal, " (", info_.name, ") at ", CountText(blocks_per_sm, "block"),
                   " per SM; use a smaller cluster_size"),
      {.reason = ErrorReason::kNoClusterFits,
       .field = "cluster_size",
       .value = absl::StrCat(cluster_size),
       .limit = absl::StrCat("at most ", traits_.max_cluster_size)});
}

}  // namespace winnow::cuda
