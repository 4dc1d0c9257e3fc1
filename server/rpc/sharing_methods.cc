#include "server/rpc/sharing_methods.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/checked_math.h"
#include "server/rpc/request_scope.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int64_t kExportBlockBytes = int64_t{2} << 20;
constexpr int kMaxChunks = 1024;
static_assert(DescriptorInbox::Options{}.max_waiting_per_lease >= kMaxChunks,
              "all chunks of an import wait at once");

absl::StatusOr<MemorySharing*> Sharing(const ServedDevice& device, absl::string_view field) {
  if (MemorySharing* sharing = device.backend->memory_sharing()) return sharing;
  return MakeError(absl::StatusCode::kUnimplemented,
                   absl::StrCat(field, " is set, but the ", device.backend->info().device.kind,
                                " device shares no memory of its own with other processes"),
                   {.reason = ErrorReason::kNotInBuild, .field = std::string(field)});
}

absl::StatusOr<std::shared_ptr<Buffer>> ImportShared(const RpcEnvironment& environment,
                                                     const ServedDevice& device,
                                                     const v1::ImportBufferRequest& request) {
  const bool in_place = device.backend->info().device.host_memory;
  MemorySharing* sharing = nullptr;
  if (!in_place) {
    WINNOW_ASSIGN_OR_RETURN(sharing, Sharing(device, "import_token"));
  }
  WINNOW_ASSIGN_OR_RETURN(
      const UniqueFd descriptor,
      environment.descriptors->Take(request.lease_id(), request.import_token()));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<SharedMemory> memory,
                          SharedMemory::Map(descriptor, {.offset_bytes = request.offset_bytes(),
                                                         .size_bytes = request.size_bytes(),
                                                         .read_only = request.read_only(),
                                                         .watch_size = !in_place}));
  if (in_place) return std::make_shared<ImportedBuffer>(std::move(memory));
  const int64_t whole_pages = AlignUp(request.size_bytes(), sysconf(_SC_PAGESIZE));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> registered,
                          sharing->RegisterHostMemory(memory->data(), whole_pages));
  return std::make_shared<RegisteredBuffer>(std::move(memory), std::move(registered));
}

absl::StatusOr<std::shared_ptr<Buffer>> PartOf(std::shared_ptr<DeviceMemory> memory,
                                               const v1::ImportBufferRequest& request) {
  const int64_t offset = request.offset_bytes();
  if (offset % 4 != 0) {
    return InvalidField(ErrorReason::kAlignmentInvalid, "offset_bytes", offset, "multiples of 4");
  }
  const int64_t whole = memory->size_bytes();
  if (offset < 0 || offset >= whole) {
    return InvalidField(ErrorReason::kRangeOutOfBounds, "offset_bytes", offset,
                        absl::StrCat("0 to ", whole - 1, ", inside the allocation"));
  }
  if (request.size_bytes() > whole - offset) {
    return InvalidField(
        ErrorReason::kRangeOutOfBounds, "size_bytes", request.size_bytes(),
        absl::StrCat("1 to ", whole - offset, ", what the allocation holds past ", "the offset"));
  }
  return std::make_shared<ForeignBuffer>(std::move(memory), offset, request.size_bytes(),
                                         request.read_only());
}

absl::StatusOr<std::shared_ptr<Buffer>> ImportHandle(const ServedDevice& device,
                                                     const v1::ImportBufferRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(MemorySharing * sharing, Sharing(device, "ipc_handle"));
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory,
                          device.imports->Open(*sharing, request.ipc_handle()));
  return PartOf(std::move(memory), request);
}

absl::StatusOr<std::shared_ptr<Buffer>> ImportMapped(const RpcEnvironment& environment,
                                                     const ServedDevice& device,
                                                     const v1::ImportBufferRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(MemorySharing * sharing, Sharing(device, "mapped_memory"));
  const v1::MappedMemory& mapped = request.mapped_memory();
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kValueOutOfRange, "mapped_memory.import_tokens",
                                      mapped.import_tokens_size(), 1, kMaxChunks));
  std::vector<UniqueFd> held;
  std::vector<int> descriptors;
  for (const std::string& token : mapped.import_tokens()) {
    WINNOW_ASSIGN_OR_RETURN(UniqueFd descriptor,
                            environment.descriptors->Take(request.lease_id(), token));
    descriptors.push_back(descriptor.get());
    held.push_back(std::move(descriptor));
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> memory =
      sharing->MapDescriptors(descriptors, mapped.chunk_size_bytes(), request.read_only());
  if (!memory.ok()) return WithFieldPrefix("mapped_memory.", memory.status());
  return PartOf(*std::move(memory), request);
}

absl::StatusOr<std::shared_ptr<Buffer>> Import(const RpcEnvironment& environment,
                                               const ServedDevice& device,
                                               const v1::ImportBufferRequest& request) {
  const int sources = (request.import_token().empty() ? 0 : 1) +
                      (request.ipc_handle().empty() ? 0 : 1) +
                      (request.has_mapped_memory() ? 1 : 0);
  if (sources > 1) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "ipc_handle, mapped_memory and import_token exclude each other; set one",
                     {.reason = ErrorReason::kFieldsConflict,
                      .field = request.ipc_handle().empty() ? "mapped_memory" : "ipc_handle"});
  }
  if (!request.ipc_handle().empty()) return ImportHandle(device, request);
  if (request.has_mapped_memory()) return ImportMapped(environment, device, request);
  return ImportShared(environment, device, request);
}

}  // namespace

absl::Status ImportBuffer(const RpcEnvironment& environment, const v1::ImportBufferRequest& request,
                          v1::ImportBufferResponse& response) {
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kRangeOutOfBounds, "size_bytes",
                                      request.size_bytes(), 1,
                                      environment.ledger->options().max_lease_bytes));
  WINNOW_ASSIGN_OR_RETURN(std::vector<QuotaHold> holds,
                          environment.ledger->Reserve(request.lease_id(), request.size_bytes()));
  WINNOW_ASSIGN_OR_RETURN(const ServedDevice* device,
                          DeviceOfLease(environment, request.lease_id()));
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, Import(environment, *device, request));
  WINNOW_ASSIGN_OR_RETURN(
      const ResourceId id,
      environment.ledger->Add(request.lease_id(), std::move(buffer), std::move(holds)));
  response.mutable_buffer()->set_id(id.id);
  response.mutable_buffer()->set_generation(id.generation);
  return absl::OkStatus();
}

absl::StatusOr<ExportableAllocation> AllocateExportable(const RpcEnvironment& environment,
                                                        const v1::AllocateBufferRequest& request) {
  if (request.export_kind() != v1::EXPORT_KIND_IPC_HANDLE &&
      request.export_kind() != v1::EXPORT_KIND_DESCRIPTOR) {
    return InvalidField(ErrorReason::kEnumUnknown, "export_kind", request.export_kind(), "0 to 2");
  }
  WINNOW_ASSIGN_OR_RETURN(const ServedDevice* device,
                          DeviceOfLease(environment, request.lease_id()));
  WINNOW_ASSIGN_OR_RETURN(MemorySharing * sharing, Sharing(*device, "export_kind"));
  ExportableAllocation allocation;
  const int64_t bytes = AlignUp(request.size_bytes(), kExportBlockBytes);
  WINNOW_ASSIGN_OR_RETURN(allocation.holds, environment.ledger->Reserve(request.lease_id(), bytes));
  WINNOW_ASSIGN_OR_RETURN(
      std::unique_ptr<ExportedMemory> memory,
      sharing->AllocateForExport(static_cast<ExportKind>(request.export_kind()), bytes));
  allocation.buffer = std::make_shared<ExportableBuffer>(std::move(memory));
  return allocation;
}

absl::Status ExportBuffer(const RpcEnvironment& environment, const v1::ExportBufferRequest& request,
                          v1::ExportBufferResponse& response) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<Resource> resource,
                          environment.ledger->Find(request.lease_id(),
                                                   {.id = request.buffer().id(),
                                                    .generation = request.buffer().generation()},
                                                   ResourceKind::kBuffer, "buffer"));
  ExportedMemory* memory = static_cast<Buffer&>(*resource).exported();
  if (memory == nullptr) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "buffer was not allocated for export; allocate it with an export_kind",
                     {.reason = ErrorReason::kFieldsConflict, .field = "buffer"});
  }
  response.set_size_bytes(memory->allocation_bytes());
  if (absl::StatusOr<std::string> handle = memory->IpcHandle(); handle.ok()) {
    response.set_ipc_handle(*std::move(handle));
    return absl::OkStatus();
  } else if (!absl::IsFailedPrecondition(handle.status())) {
    return handle.status();
  }
  WINNOW_ASSIGN_OR_RETURN(const int descriptor, memory->Descriptor());
  WINNOW_ASSIGN_OR_RETURN(*response.mutable_export_token(),
                          environment.descriptors->Put(request.lease_id(), UniqueFd(descriptor)));
  return absl::OkStatus();
}

}  // namespace winnow::server
