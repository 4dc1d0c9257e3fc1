#include "tests/testing/discrete_device.h"

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/testing/forwarding_device.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::testing {
namespace {

class DiscreteDevice final : public ForwardingDevice {
 public:
  DiscreteDevice(int64_t workspace_bytes, bool reads_pinned)
      : ForwardingDevice(*OpenCpuDevice({.threads = 1})),
        workspace_bytes_(workspace_bytes),
        reads_pinned_(reads_pinned) {
    info_ = ForwardingDevice::info();
    info_.kind = "discrete";
    info_.host_memory = false;
  }

  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemoryKind kind, int64_t bytes) override {
    WINNOW_ASSIGN_OR_RETURN(auto memory, ForwardingDevice::Allocate(kind, bytes));
    std::memset(memory->data(), 0xa5, bytes);
    if (kind == MemoryKind::kDevice || reads_pinned_) {
      absl::MutexLock lock(&mu_);
      ranges_[memory->data()] = bytes;
    }
    return memory;
  }
  int64_t TopKWorkspaceBytes(const TopKParams&, absl::Span<const TopKSegment>) const override {
    return workspace_bytes_;
  }
  int64_t PublishWorkspaceBytes(const PublishParams&,
                                absl::Span<const PublishSegment>) const override {
    return workspace_bytes_;
  }

  absl::Status TopK(Stream& stream, const TopKParams& params,
                    absl::Span<const TopKSegment> segments,
                    absl::Span<std::byte> workspace) override {
    WINNOW_RETURN_IF_ERROR(UseWorkspace(workspace));
    for (const TopKSegment& s : segments) {
      WINNOW_RETURN_IF_ERROR(
          CheckOwn({s.scores, s.lengths, s.row_starts, s.index_offsets, s.pages.page_table,
                    s.pages.page_table_rows, s.indices, s.slots, s.values, s.plan, s.report}));
    }
    return ForwardingDevice::TopK(stream, params, segments, workspace);
  }
  absl::Status BlockAmax(Stream& stream, const BlockAmaxParams& params,
                         absl::Span<const BlockAmaxSegment> segments) override {
    for (const BlockAmaxSegment& s : segments) {
      WINNOW_RETURN_IF_ERROR(CheckOwn({s.scores, s.lengths, s.keys, s.block_counts, s.report}));
    }
    return ForwardingDevice::BlockAmax(stream, params, segments);
  }
  absl::Status SortCandidateBlocks(Stream& stream, const SortBlocksParams& params,
                                   absl::Span<const SortBlocksSegment> segments) override {
    for (const SortBlocksSegment& s : segments) {
      WINNOW_RETURN_IF_ERROR(
          CheckOwn({s.blocks, s.lengths, s.pages.page_table, s.pages.page_table_rows, s.out_blocks,
                    s.block_slots, s.candidate_lengths, s.report}));
    }
    return ForwardingDevice::SortCandidateBlocks(stream, params, segments);
  }
  absl::Status PublishCandidates(Stream& stream, const PublishParams& params,
                                 absl::Span<const PublishSegment> segments,
                                 absl::Span<std::byte> workspace) override {
    WINNOW_RETURN_IF_ERROR(UseWorkspace(workspace));
    for (const PublishSegment& s : segments) {
      WINNOW_RETURN_IF_ERROR(
          CheckOwn({s.scores, s.lengths, s.pages.page_table, s.pages.page_table_rows, s.slots,
                    s.indices, s.blocks, s.block_slots, s.candidate_lengths, s.report}));
    }
    return ForwardingDevice::PublishCandidates(stream, params, segments, workspace);
  }
  absl::Status PlanTopK(Stream& stream, const PlanParams& params, const int32_t* lengths,
                        int32_t rows, std::byte* plan) override {
    WINNOW_RETURN_IF_ERROR(CheckOwn({lengths, plan}));
    return ForwardingDevice::PlanTopK(stream, params, lengths, rows, plan);
  }

 private:
  absl::Status UseWorkspace(absl::Span<std::byte> workspace) {
    if (static_cast<int64_t>(workspace.size()) < workspace_bytes_) {
      return absl::InternalError("the workspace is too small");
    }
    if (workspace_bytes_ == 0) return absl::OkStatus();
    WINNOW_RETURN_IF_ERROR(CheckOwn({workspace.data(), workspace.data() + workspace_bytes_ - 1}));
    // Whatever shares its bytes is found out.
    std::memset(workspace.data(), 0x5a, workspace_bytes_);
    return absl::OkStatus();
  }

  absl::Status CheckOwn(std::initializer_list<const void*> pointers) const {
    absl::MutexLock lock(&mu_);
    int index = 0;
    for (const void* pointer : pointers) {
      const auto* address = static_cast<const std::byte*>(pointer);
      auto range = ranges_.upper_bound(address);
      const bool inside =
          range != ranges_.begin() && address - std::prev(range)->first < std::prev(range)->second;
      if (pointer != nullptr && !inside) {
        return absl::InternalError(absl::StrCat("pointer ", index, " is not device memory"));
      }
      ++index;
    }
    return absl::OkStatus();
  }

  const int64_t workspace_bytes_;
  const bool reads_pinned_;
  DeviceInfo info_;
  mutable absl::Mutex mu_;
  std::map<const std::byte*, int64_t> ranges_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<Device> MakeDiscreteDevice(int64_t workspace_bytes, bool reads_pinned) {
  return std::make_unique<DiscreteDevice>(workspace_bytes, reads_pinned);
}

}  // namespace winnow::testing
