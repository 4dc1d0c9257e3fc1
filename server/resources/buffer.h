// Buffers: device memory that a lease owns, or memory of another process that it brought in.

#ifndef WINNOW_SERVER_RESOURCES_BUFFER_H_
#define WINNOW_SERVER_RESOURCES_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/resources/resource.h"
#include "server/resources/shared_memory.h"
#include "server/resources/write_claims.h"
#include "winnow/kernels/device.h"

namespace winnow::server {

class Buffer : public Resource {
 public:
  // Memory that the backend's device reads and writes.
  virtual std::byte* data() const = 0;
  virtual bool read_only() const = 0;
  // FailedPrecondition when the memory went away under the server: its owner truncated it. Ask
  // again after work that used the buffer; what such work read is undefined, though harmless.
  virtual absl::Status Intact() const = 0;

  // Null for a buffer that was not allocated for export.
  virtual ExportedMemory* exported() const { return nullptr; }

  WriteClaims& write_claims() { return write_claims_; }

 private:
  WriteClaims write_claims_;
};

class AllocatedBuffer final : public Buffer {
 public:
  explicit AllocatedBuffer(std::unique_ptr<DeviceMemory> memory) : memory_(std::move(memory)) {}

  ResourceKind kind() const override { return ResourceKind::kBuffer; }
  int64_t size_bytes() const override { return memory_->size_bytes(); }
  std::byte* data() const override { return memory_->data(); }
  bool read_only() const override { return false; }
  absl::Status Intact() const override { return absl::OkStatus(); }

 private:
  std::unique_ptr<DeviceMemory> memory_;
};

class ImportedBuffer final : public Buffer {
 public:
  explicit ImportedBuffer(std::unique_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}

  ResourceKind kind() const override { return ResourceKind::kImportedBuffer; }
  int64_t size_bytes() const override { return memory_->size_bytes(); }
  std::byte* data() const override { return memory_->data(); }
  bool read_only() const override { return memory_->read_only(); }
  absl::Status Intact() const override { return memory_->Intact(); }

 private:
  std::unique_ptr<SharedMemory> memory_;
};

// Shared memory that a GPU uses in place.
class RegisteredBuffer final : public Buffer {
 public:
  // `registered` is `memory` as the device sees it, and at least as large.
  RegisteredBuffer(std::unique_ptr<SharedMemory> memory, std::unique_ptr<DeviceMemory> registered)
      : memory_(std::move(memory)), registered_(std::move(registered)) {}

  ResourceKind kind() const override { return ResourceKind::kImportedBuffer; }
  int64_t size_bytes() const override { return memory_->size_bytes(); }
  std::byte* data() const override { return registered_->data(); }
  bool read_only() const override { return memory_->read_only(); }
  absl::Status Intact() const override { return memory_->Intact(); }

 private:
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<DeviceMemory> registered_;  // let go of before the memory is unmapped
};

// A part of GPU memory of another process.
class ForeignBuffer final : public Buffer {
 public:
  // `memory` is shared: several buffers may be made of one allocation.
  ForeignBuffer(std::shared_ptr<DeviceMemory> memory, int64_t offset_bytes, int64_t size_bytes,
                bool read_only)
      : memory_(std::move(memory)),
        offset_bytes_(offset_bytes),
        size_bytes_(size_bytes),
        read_only_(read_only) {}

  ResourceKind kind() const override { return ResourceKind::kImportedBuffer; }
  int64_t size_bytes() const override { return size_bytes_; }
  std::byte* data() const override { return memory_->data() + offset_bytes_; }
  bool read_only() const override { return read_only_; }
  // The driver keeps the memory while it is mapped, whatever its owner does.
  absl::Status Intact() const override { return absl::OkStatus(); }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  const int64_t offset_bytes_, size_bytes_;
  const bool read_only_;
};

// Memory of the server that other processes may map.
class ExportableBuffer final : public Buffer {
 public:
  explicit ExportableBuffer(std::unique_ptr<ExportedMemory> memory) : memory_(std::move(memory)) {}

  ResourceKind kind() const override { return ResourceKind::kBuffer; }
  int64_t size_bytes() const override { return memory_->allocation_bytes(); }
  std::byte* data() const override { return memory_->data(); }
  bool read_only() const override { return false; }
  absl::Status Intact() const override { return absl::OkStatus(); }
  ExportedMemory* exported() const override { return memory_.get(); }

 private:
  std::unique_ptr<ExportedMemory> memory_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_BUFFER_H_
