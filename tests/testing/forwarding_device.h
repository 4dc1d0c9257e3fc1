// A device that hands every call to another one. Tests derive from it to count calls, or to fail
// them.

#ifndef WINNOW_TESTS_TESTING_FORWARDING_DEVICE_H_
#define WINNOW_TESTS_TESTING_FORWARDING_DEVICE_H_

#include <memory>
#include <utility>

#include "winnow/kernels/device.h"

namespace winnow::testing {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  const DeviceInfo& info() const override { return device_->info(); }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemoryKind kind, int64_t bytes) override {
    return device_->Allocate(kind, bytes);
  }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(StreamPriority priority) override {
    return device_->CreateStream(priority);
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override { return device_->CreateEvent(); }
  absl::Status Copy(Stream& stream, void* to, const void* from, int64_t bytes) override {
    return device_->Copy(stream, to, from, bytes);
  }
  absl::Status CopyRows(Stream& stream, void* to, int64_t to_pitch, const void* from,
                        int64_t from_pitch, int64_t width, int64_t height) override {
    return device_->CopyRows(stream, to, to_pitch, from, from_pitch, width, height);
  }
  absl::Status Fill(Stream& stream, void* to, int value, int64_t bytes) override {
    return device_->Fill(stream, to, value, bytes);
  }
  absl::Status Healthy() override { return device_->Healthy(); }
  MemorySharing* memory_sharing() override { return device_->memory_sharing(); }
  int64_t TopKWorkspaceBytes(const TopKParams& params,
                             absl::Span<const TopKSegment> segments) const override {
    return device_->TopKWorkspaceBytes(params, segments);
  }
  int64_t PublishWorkspaceBytes(const PublishParams& params,
                                absl::Span<const PublishSegment> segments) const override {
    return device_->PublishWorkspaceBytes(params, segments);
  }
  absl::Status TopK(Stream& stream, const TopKParams& params,
                    absl::Span<const TopKSegment> segments,
                    absl::Span<std::byte> workspace) override {
    return device_->TopK(stream, params, segments, workspace);
  }
  absl::Status BlockAmax(Stream& stream, const BlockAmaxParams& params,
                         absl::Span<const BlockAmaxSegment> segments) override {
    return device_->BlockAmax(stream, params, segments);
  }
  absl::Status SortCandidateBlocks(Stream& stream, const SortBlocksParams& params,
                                   absl::Span<const SortBlocksSegment> segments) override {
    return device_->SortCandidateBlocks(stream, params, segments);
  }
  absl::Status PublishCandidates(Stream& stream, const PublishParams& params,
                                 absl::Span<const PublishSegment> segments,
                                 absl::Span<std::byte> workspace) override {
    return device_->PublishCandidates(stream, params, segments, workspace);
  }
  absl::Status PlanTopK(Stream& stream, const PlanParams& params, const int32_t* lengths,
                        int32_t rows, std::byte* plan) override {
    return device_->PlanTopK(stream, params, lengths, rows, plan);
  }
  absl::Status HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                        std::byte* plan) const override {
    return device_->HostPlan(params, lengths, rows, plan);
  }
  absl::StatusOr<int32_t> ProbeOccupancy(int32_t size, int32_t blocks) override {
    return device_->ProbeOccupancy(size, blocks);
  }

 private:
  const std::unique_ptr<Device> device_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_FORWARDING_DEVICE_H_
