#include "client/cli/gpu_probe.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "client/cli/probe_lease.h"
#include "client/cli/probe_row.h"
#include "winnow/client/unique_descriptor.h"
#include "winnow/kernels/device.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

// This process's side of memory on the server's GPU.
class GpuSide {
 public:
  static absl::StatusOr<std::unique_ptr<GpuSide>> Open(int32_t ordinal) {
    auto side = std::make_unique<GpuSide>();
    WINNOW_ASSIGN_OR_RETURN(side->device_, OpenCudaDevice({.ordinal = ordinal}));
    WINNOW_ASSIGN_OR_RETURN(side->stream_, side->device_->CreateStream(StreamPriority::kNormal));
    return side;
  }

  absl::Status TryImport(ProbeLease& lease, ExportKind kind) {
    WINNOW_ASSIGN_OR_RETURN(const auto memory,
                            device_->memory_sharing()->AllocateForExport(kind, kProbeBytes));
    v1::ImportBufferRequest request;
    if (kind == ExportKind::kIpcHandle) {
      WINNOW_ASSIGN_OR_RETURN(*request.mutable_ipc_handle(), memory->IpcHandle());
    } else {
      WINNOW_ASSIGN_OR_RETURN(const int number, memory->Descriptor());
      const client::UniqueDescriptor descriptor(number);
      WINNOW_ASSIGN_OR_RETURN(*request.mutable_mapped_memory()->add_import_tokens(),
                              lease.SendDescriptor(descriptor.get()));
      request.mutable_mapped_memory()->set_chunk_size_bytes(memory->allocation_bytes());
    }
    WINNOW_ASSIGN_OR_RETURN(const v1::ResourceId buffer, lease.Import(request));
    return SelectIn(lease, buffer, memory->data());
  }

  absl::Status TryExport(ProbeLease& lease, v1::ExportKind kind) {
    WINNOW_ASSIGN_OR_RETURN(const auto allocated, lease.Allocate(kind));
    WINNOW_ASSIGN_OR_RETURN(const auto exported, lease.Export(allocated.buffer()));
    std::unique_ptr<DeviceMemory> memory;
    if (kind == v1::EXPORT_KIND_IPC_HANDLE) {
      WINNOW_ASSIGN_OR_RETURN(memory,
                              device_->memory_sharing()->OpenIpcHandle(exported.ipc_handle()));
    } else {
      WINNOW_ASSIGN_OR_RETURN(const client::UniqueDescriptor descriptor,
                              lease.FetchDescriptor(exported.export_token()));
      const int number = descriptor.get();
      WINNOW_ASSIGN_OR_RETURN(memory, device_->memory_sharing()->MapDescriptors(
                                          {&number, 1}, exported.size_bytes(), false));
    }
    return SelectIn(lease, allocated.buffer(), memory->data());
  }

 private:
  absl::Status SelectIn(ProbeLease& lease, const v1::ResourceId& buffer, std::byte* memory) {
    const ProbeScores scores = MakeProbeScores();
    ProbeAnswer answer{};
    WINNOW_RETURN_IF_ERROR(
        device_->Copy(*stream_, memory + kProbeScoresAt, scores.data(), sizeof(scores)));
    WINNOW_RETURN_IF_ERROR(stream_->Synchronize());
    WINNOW_RETURN_IF_ERROR(lease.Select(buffer));
    WINNOW_RETURN_IF_ERROR(
        device_->Copy(*stream_, answer.data(), memory + kProbeAnswerAt, sizeof(answer)));
    WINNOW_RETURN_IF_ERROR(stream_->Synchronize());
    return CheckProbeAnswer(answer.data());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

void TryAll(GpuSide& gpu, ProbeLease& lease, Findings& findings) {
  constexpr char kHandles[] =
      "handles need one IPC namespace and one user for both processes, and no MIG";
  constexpr char kDescriptors[] =
      "the driver must allow POSIX file descriptors of virtual memory, and the allocator ask for "
      "them";
  findings.Tried("import by handle", gpu.TryImport(lease, ExportKind::kIpcHandle), kSelects,
                 kHandles);
  findings.Tried("import by descriptor", gpu.TryImport(lease, ExportKind::kDescriptor), kSelects,
                 kDescriptors);
  findings.Tried("export by handle", gpu.TryExport(lease, v1::EXPORT_KIND_IPC_HANDLE), kSelects,
                 kHandles);
  findings.Tried("export by descriptor", gpu.TryExport(lease, v1::EXPORT_KIND_DESCRIPTOR), kSelects,
                 kDescriptors);
}

}  // namespace

void ProbeGpuMemory(const Session& session, absl::Duration timeout, Findings& findings) {
  constexpr char kWhat[] = "GPU memory";
  const client::DeviceDescription& device = session.info.device;
  const auto not_tried = [&](const char* why) { findings.Say(kWhat, Verdict::kNotTried, why); };
  if (device.kind != "cuda") return not_tried("the server has no GPU");
  if (!device.shares_memory) return not_tried("the server's device shares none");
  if (!absl::StartsWith(session.target, "unix:")) {
    return not_tried("needs a server on a Unix socket of this host; this target is TCP");
  }
  auto gpu = GpuSide::Open(device.ordinal);
  if (absl::IsUnimplemented(gpu.status())) {
    return not_tried("this winnow is built without CUDA; the server's own build has one with it");
  }
  if (!gpu.ok()) {
    findings.Tried(kWhat, gpu.status(), "",
                   "an engine must see the server's GPU: --gpus, CUDA_VISIBLE_DEVICES");
    return;
  }
  const auto lease = ProbeLease::Open(session.target, timeout, device.ordinal);
  if (!lease.ok()) {
    findings.Tried(kWhat, lease.status(), "", "a lease is needed");
    return;
  }
  TryAll(**gpu, **lease, findings);
}

}  // namespace winnow::cli
