// Buffers: device memory that a lease owns, or shared memory of another process that it brought in.

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

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_BUFFER_H_
