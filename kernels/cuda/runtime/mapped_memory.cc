#include "kernels/cuda/runtime/mapped_memory.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/runtime/device_scope.h"
#include "kernels/cuda/runtime/import_refused.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cuda {
namespace {

CUmemAllocationProp ExportableOn(int32_t ordinal) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  return properties;
}

absl::StatusOr<int64_t> Granularity(DeviceHealth& health, const DriverCalls& calls) {
  const CUmemAllocationProp properties = ExportableOn(health.ordinal());
  size_t bytes = 0;
  WINNOW_RETURN_IF_ERROR(health.Check(
      AsRuntimeError(calls.granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM)),
      "asking for the granularity of memory"));
  return static_cast<int64_t>(bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MappedMemory>> MappedMemory::Import(
    std::shared_ptr<DeviceHealth> health, absl::Span<const int> descriptors, int64_t chunk_bytes,
    bool read_only) {
  WINNOW_ASSIGN_OR_RETURN(const DriverCalls* calls, DriverCalls::Get());
  const DeviceScope scope(health->ordinal());
  WINNOW_ASSIGN_OR_RETURN(const int64_t granularity, Granularity(*health, *calls));
  const int64_t most = std::numeric_limits<int64_t>::max() / (int64_t{1} << 20);
  if (chunk_bytes < granularity || chunk_bytes % granularity != 0 || chunk_bytes > most) {
    return InvalidField(ErrorReason::kValueOutOfRange, "chunk_size_bytes", chunk_bytes,
                        absl::StrCat("multiples of ", granularity));
  }
  auto memory = std::unique_ptr<MappedMemory>(new MappedMemory(health, calls));
  for (const int descriptor : descriptors) {
    CUmemGenericAllocationHandle chunk = 0;
    void* handle = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
    WINNOW_RETURN_IF_ERROR(CheckImport(
        *health, calls->import_handle(&chunk, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "importing a descriptor"));
    memory->chunks_.push_back(chunk);
  }
  WINNOW_RETURN_IF_ERROR(memory->Map(chunk_bytes, read_only));
  return memory;
}

absl::StatusOr<std::unique_ptr<MappedMemory>> MappedMemory::Create(
    std::shared_ptr<DeviceHealth> health, int64_t bytes) {
  WINNOW_ASSIGN_OR_RETURN(const DriverCalls* calls, DriverCalls::Get());
  const DeviceScope scope(health->ordinal());
  WINNOW_ASSIGN_OR_RETURN(const int64_t granularity, Granularity(*health, *calls));
  const int64_t whole = (bytes + granularity - 1) / granularity * granularity;
  auto memory = std::unique_ptr<MappedMemory>(new MappedMemory(health, calls));
  const CUmemAllocationProp properties = ExportableOn(health->ordinal());
  CUmemGenericAllocationHandle chunk = 0;
  WINNOW_RETURN_IF_ERROR(
      health->Check(AsRuntimeError(calls->create(&chunk, whole, &properties, 0)),
                    absl::StrCat("allocating ", whole, " bytes of device memory for export")));
  memory->chunks_.push_back(chunk);
  WINNOW_RETURN_IF_ERROR(memory->Map(whole, false));
  return memory;
}

absl::Status MappedMemory::Map(int64_t chunk_bytes, bool read_only) {
  const int64_t bytes = chunk_bytes * static_cast<int64_t>(chunks_.size());
  WINNOW_RETURN_IF_ERROR(health_->Check(AsRuntimeError(calls_->reserve(&address_, bytes, 0, 0, 0)),
                                        "reserving addresses"));
  size_bytes_ = bytes;
  for (const CUmemGenericAllocationHandle chunk : chunks_) {
    // Fails for a chunk of another size.
    WINNOW_RETURN_IF_ERROR(
        CheckImport(*health_, calls_->map(address_ + mapped_bytes_, chunk_bytes, 0, chunk, 0),
                    "mapping memory"));
    mapped_bytes_ += chunk_bytes;
  }
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = health_->ordinal();
  access.flags = read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CheckImport(*health_, calls_->set_access(address_, bytes, &access, 1),
                     "opening access to memory");
}

MappedMemory::~MappedMemory() {
  const DeviceScope scope(health_->ordinal());
  const auto note = [this](CUresult result, const char* doing) {
    (void)health_->Check(AsRuntimeError(result), doing);
  };
  if (mapped_bytes_ > 0) note(calls_->unmap(address_, mapped_bytes_), "unmapping memory");
  if (address_ != 0) note(calls_->free_reserved(address_, size_bytes_), "freeing addresses");
  for (const CUmemGenericAllocationHandle chunk : chunks_) {
    note(calls_->release(chunk), "releasing memory");
  }
}

absl::StatusOr<int> MappedMemory::Export() {
  const DeviceScope scope(health_->ordinal());
  int descriptor = -1;
  WINNOW_RETURN_IF_ERROR(health_->Check(
      AsRuntimeError(calls_->export_handle(&descriptor, chunks_.front(),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)),
      "exporting memory"));
  return descriptor;
}

}  // namespace winnow::cuda
