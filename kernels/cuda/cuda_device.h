// One NVIDIA GPU as a winnow::Device. Everything that enqueues work goes through here: the checks
// of operations.h, then the launch of launch/*.h, then the error of the launch.
// Next: README.md for the layers below.

#ifndef WINNOW_KERNELS_CUDA_CUDA_DEVICE_H_
#define WINNOW_KERNELS_CUDA_CUDA_DEVICE_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/launch/launch_context.h"
#include "kernels/cuda/publish_steps.h"
#include "kernels/cuda/runtime/cuda_status.h"
#include "kernels/cuda/runtime/memory_sharing.h"
#include "kernels/cuda/runtime/stream.h"
#include "kernels/cuda/tuning/device_traits.h"
#include "winnow/kernels/device.h"

namespace winnow::cuda {

// Streams, events and memory passed in must come from a CudaDevice of the same GPU.
class CudaDevice final : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Open(int32_t ordinal);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  const DeviceTraits& traits() const { return traits_; }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemoryKind kind, int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(StreamPriority priority) override;
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override;
  absl::Status Copy(Stream& stream, void* destination, const void* source, int64_t bytes) override;
  absl::Status CopyRows(Stream& stream, void* destination, int64_t destination_pitch_bytes,
                        const void* source, int64_t source_pitch_bytes, int64_t width_bytes,
                        int64_t height) override;
  absl::Status Fill(Stream& stream, void* destination, int value, int64_t bytes) override;
  absl::Status Healthy() override;
  MemorySharing* memory_sharing() override { return &memory_sharing_; }

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
  CudaDevice(std::shared_ptr<DeviceHealth> health, DeviceTraits traits, DeviceInfo info,
             bool publish_select_fits, std::unique_ptr<CudaStream> probe_stream)
      : health_(std::move(health)),
        traits_(traits),
        publish_select_fits_(publish_select_fits),
        info_(std::move(info)),
        probe_stream_(std::move(probe_stream)),
        memory_sharing_(health_) {}

  LaunchContext ContextOf(Stream& stream) const;
  bool MayFuse() const;
  // Workspace of the two selections of a publish chain: of the larger one, for they run one after
  // the other, or of both where one launch does both.
  int64_t SelectionBytes(const PublishSteps& steps) const;
  absl::Status SelectPublished(Stream& stream, const PublishSteps& steps,
                               absl::Span<std::byte> workspace);

  const std::shared_ptr<DeviceHealth> health_;  // shared with streams, events and memory
  const DeviceTraits traits_;
  const bool publish_select_fits_;
  const DeviceInfo info_;
  const std::unique_ptr<CudaStream> probe_stream_;  // for Healthy(): never holds work
  CudaMemorySharing memory_sharing_;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_CUDA_DEVICE_H_
