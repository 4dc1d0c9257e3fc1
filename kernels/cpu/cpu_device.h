// The CPU device: the operations on host memory, rows shared by a pool of threads.
// Next: engine.h for the operations, plan.h for the routing, worker_pool.h for the threads.

#ifndef WINNOW_KERNELS_CPU_CPU_DEVICE_H_
#define WINNOW_KERNELS_CPU_CPU_DEVICE_H_

#include <memory>

#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/worker_pool.h"
#include "winnow/kernels/device.h"

namespace winnow::cpu {

class CpuDevice : public Device {
 public:
  CpuDevice(int32_t threads, const RowKernels& kernels);

  const DeviceInfo& info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemoryKind kind, int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(StreamPriority priority) override;
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override;

  absl::Status Copy(Stream& stream, void* destination, const void* source, int64_t bytes) override;
  absl::Status CopyRows(Stream& stream, void* destination, int64_t destination_pitch_bytes,
                        const void* source, int64_t source_pitch_bytes, int64_t width_bytes,
                        int64_t height) override;
  absl::Status Fill(Stream& stream, void* destination, int value, int64_t bytes) override;
  absl::Status Healthy() override { return absl::OkStatus(); }

  // The threads keep their own scratch memory: no operation needs a workspace.
  int64_t TopKWorkspaceBytes(const TopKParams& params,
                             absl::Span<const TopKSegment> segments) const override;
  int64_t PublishWorkspaceBytes(const PublishParams& params,
                                absl::Span<const PublishSegment> segments) const override;

  absl::Status TopK(Stream& stream, const TopKParams& params,
                    absl::Span<const TopKSegment> segments,
                    absl::Span<std::byte> workspace) override;
  absl::Status BlockAmax(Stream& stream, const BlockAmaxParams& params,
                         absl::Span<const BlockAmaxSegment> segments) override;
  absl::Status SortCandidateBlocks(Stream& stream, const SortBlocksParams& params,
                                   absl::Span<const SortBlocksSegment> segments) override;
  absl::Status PublishCandidates(Stream& stream, const PublishParams& params,
                                 absl::Span<const PublishSegment> segments,
                                 absl::Span<std::byte> workspace) override;
  absl::Status PlanTopK(Stream& stream, const PlanParams& params, const int32_t* lengths,
                        int32_t rows, std::byte* plan) override;
  absl::Status HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                        std::byte* plan) const override;
  absl::StatusOr<int32_t> ProbeOccupancy(int32_t cluster_size, int32_t blocks_per_sm) override;

 private:
  const RowKernels& kernels_;
  WorkerPool pool_;
  DeviceInfo info_;
};

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_CPU_DEVICE_H_
