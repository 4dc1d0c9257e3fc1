#include "kernels/cuda/runtime/memory_sharing.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/runtime/device_scope.h"
#include "kernels/cuda/runtime/import_refused.h"
#include "kernels/cuda/runtime/mapped_memory.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/runtime/stream.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cuda {
namespace {

// Smaller allocations share a block of this size, and a handle names the block.
constexpr int64_t kIpcBlockBytes = int64_t{2} << 20;

class IpcMemory final : public DeviceMemory {
 public:
  IpcMemory(std::shared_ptr<DeviceHealth> health, void* data)
      : health_(std::move(health)), data_(static_cast<std::byte*>(data)) {}
  ~IpcMemory() override {
    const DeviceScope scope(health_->ordinal());
    (void)health_->Check(cudaIpcCloseMemHandle(data_), "closing a memory handle");
  }
  std::byte* data() const override { return data_; }
  int64_t size_bytes() const override { return size_bytes_; }
  void set_size_bytes(int64_t bytes) { size_bytes_ = bytes; }

 private:
  const std::shared_ptr<DeviceHealth> health_;
  std::byte* const data_;
  int64_t size_bytes_ = 0;
};

class RegisteredHostMemory final : public DeviceMemory {
 public:
  RegisteredHostMemory(std::shared_ptr<DeviceHealth> health, std::byte* host, int64_t bytes)
      : health_(std::move(health)), host_(host), size_bytes_(bytes) {}
  ~RegisteredHostMemory() override {
    const DeviceScope scope(health_->ordinal());
    (void)health_->Check(cudaHostUnregister(host_), "unregistering host memory");
  }
  std::byte* data() const override { return device_; }
  int64_t size_bytes() const override { return size_bytes_; }
  void set_device_address(void* address) { device_ = static_cast<std::byte*>(address); }

 private:
  const std::shared_ptr<DeviceHealth> health_;
  std::byte* const host_;
  const int64_t size_bytes_;
  std::byte* device_ = nullptr;
};

absl::Status NotThatKind(absl::string_view kind) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("the memory was not allocated to be exported as ", kind),
                   {.reason = ErrorReason::kFieldsConflict});
}

class IpcExport final : public ExportedMemory {
 public:
  IpcExport(std::shared_ptr<DeviceHealth> health, std::unique_ptr<DeviceMemory> memory)
      : health_(std::move(health)), memory_(std::move(memory)) {}
  std::byte* data() const override { return memory_->data(); }
  int64_t allocation_bytes() const override { return memory_->size_bytes(); }
  absl::StatusOr<std::string> IpcHandle() override {
    const DeviceScope scope(health_->ordinal());
    cudaIpcMemHandle_t handle;
    static_assert(sizeof(handle) == kIpcHandleBytes);
    WINNOW_RETURN_IF_ERROR(
        health_->Check(cudaIpcGetMemHandle(&handle, memory_->data()), "exporting memory"));
    return std::string(reinterpret_cast<const char*>(&handle), sizeof(handle));
  }
  absl::StatusOr<int> Descriptor() override { return NotThatKind("a descriptor"); }

 private:
  const std::shared_ptr<DeviceHealth> health_;
  const std::unique_ptr<DeviceMemory> memory_;
};

class DescriptorExport final : public ExportedMemory {
 public:
  explicit DescriptorExport(std::unique_ptr<MappedMemory> memory) : memory_(std::move(memory)) {}
  std::byte* data() const override { return memory_->data(); }
  int64_t allocation_bytes() const override { return memory_->size_bytes(); }
  absl::StatusOr<std::string> IpcHandle() override { return NotThatKind("a handle"); }
  absl::StatusOr<int> Descriptor() override { return memory_->Export(); }

 private:
  const std::unique_ptr<MappedMemory> memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMemory>> CudaMemorySharing::OpenIpcHandle(
    absl::string_view handle) {
  if (static_cast<int64_t>(handle.size()) != kIpcHandleBytes) {
    return InvalidField(ErrorReason::kDataSizeMismatch, "ipc_handle",
                        static_cast<int64_t>(handle.size()),
                        absl::StrCat(kIpcHandleBytes, " bytes"));
  }
  WINNOW_ASSIGN_OR_RETURN(const DriverCalls* calls, DriverCalls::Get());
  const DeviceScope scope(health_->ordinal());
  cudaIpcMemHandle_t opened;
  std::memcpy(&opened, handle.data(), sizeof(opened));
  void* data = nullptr;
  WINNOW_RETURN_IF_ERROR(
      CheckImport(*health_, cudaIpcOpenMemHandle(&data, opened, cudaIpcMemLazyEnablePeerAccess),
                  "opening a memory handle"));
  auto memory = std::make_unique<IpcMemory>(health_, data);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  WINNOW_RETURN_IF_ERROR(CheckImport(
      *health_, calls->get_address_range(&base, &bytes, reinterpret_cast<CUdeviceptr>(data)),
      "asking for the size of an allocation"));
  memory->set_size_bytes(static_cast<int64_t>(bytes) -
                         static_cast<int64_t>(reinterpret_cast<CUdeviceptr>(data) - base));
  return memory;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> CudaMemorySharing::MapDescriptors(
    absl::Span<const int> descriptors, int64_t chunk_bytes, bool read_only) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory,
                          MappedMemory::Import(health_, descriptors, chunk_bytes, read_only));
  return memory;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> CudaMemorySharing::RegisterHostMemory(std::byte* host,
                                                                                    int64_t bytes) {
  const DeviceScope scope(health_->ordinal());
  WINNOW_RETURN_IF_ERROR(CheckImport(
      *health_, cudaHostRegister(host, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
      "registering host memory"));
  auto memory = std::make_unique<RegisteredHostMemory>(health_, host, bytes);
  void* address = nullptr;
  WINNOW_RETURN_IF_ERROR(
      CheckImport(*health_, cudaHostGetDevicePointer(&address, host, 0), "mapping host memory"));
  memory->set_device_address(address);
  return memory;
}

absl::StatusOr<std::unique_ptr<ExportedMemory>> CudaMemorySharing::AllocateForExport(
    ExportKind kind, int64_t bytes) {
  std::unique_ptr<ExportedMemory> memory;
  if (kind == ExportKind::kDescriptor) {
    WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<MappedMemory> mapped,
                            MappedMemory::Create(health_, bytes));
    memory = std::make_unique<DescriptorExport>(std::move(mapped));
  } else {
    const int64_t whole = (bytes + kIpcBlockBytes - 1) / kIpcBlockBytes * kIpcBlockBytes;
    WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> block,
                            CudaMemory::Allocate(health_, MemoryKind::kDevice, whole));
    memory = std::make_unique<IpcExport>(health_, std::move(block));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<CudaStream> stream,
                          CudaStream::Create(health_, StreamPriority::kNormal));
  const DeviceScope scope(health_->ordinal());
  WINNOW_RETURN_IF_ERROR(health_->Check(
      cudaMemsetAsync(memory->data(), 0, memory->allocation_bytes(), stream->get()), "filling"));
  WINNOW_RETURN_IF_ERROR(stream->Synchronize());
  return memory;
}

absl::Status CudaMemorySharing::AwaitWord(Stream& stream, const std::byte* word, uint32_t value) {
  WINNOW_ASSIGN_OR_RETURN(const DriverCalls* calls, DriverCalls::Get());
  const DeviceScope scope(health_->ordinal());
  // FLUSH is not supported everywhere, and only remote writers over PCIe would need it.
  return health_->Check(AsRuntimeError(calls->wait_value(static_cast<CudaStream&>(stream).get(),
                                                         reinterpret_cast<CUdeviceptr>(word), value,
                                                         CU_STREAM_WAIT_VALUE_GEQ)),
                        "waiting for a word");
}

absl::Status CudaMemorySharing::SetWord(Stream& stream, std::byte* word, uint32_t value) {
  WINNOW_ASSIGN_OR_RETURN(const DriverCalls* calls, DriverCalls::Get());
  const DeviceScope scope(health_->ordinal());
  // By default the write comes after a fence over all that the stream did before.
  return health_->Check(AsRuntimeError(calls->write_value(static_cast<CudaStream&>(stream).get(),
                                                          reinterpret_cast<CUdeviceptr>(word),
                                                          value, CU_STREAM_WRITE_VALUE_DEFAULT)),
                        "writing a word");
}

}  // namespace winnow::cuda
