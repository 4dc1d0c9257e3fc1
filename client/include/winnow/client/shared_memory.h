// Memory that a client and the server of one host both map.

#ifndef WINNOW_CLIENT_SHARED_MEMORY_H_
#define WINNOW_CLIENT_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "winnow/client/buffer.h"

namespace winnow::client {

// Owns a mapping of anonymous shared memory. Its size is sealed: neither side can take memory away
// from under the other. Move-only. Thread safety: as plain memory.
class SharedMemory {
 public:
  SharedMemory() = default;
  // `size_bytes` of zeros, at least 1. ResourceExhausted when the system has none.
  static absl::StatusOr<SharedMemory> Create(int64_t size_bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  int descriptor() const { return descriptor_; }

 private:
  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
  int descriptor_ = -1;
};

// Shared memory as a buffer of a lease; Lease::ShareMemory makes one. What this process writes, the
// next operation reads, and an output is there when its call is over. Neither side may change bytes
// that an operation under way uses: its result is then unspecified, though never harmful. A call
// that ends by its timeout, by cancelling or by a broken connection may leave an operation running
// that still writes its outputs; they are quiet when the lease has ended or the server is idle.
// It comes back with its contents after a recovery. Move-only; the destructor releases the buffer
// and unmaps the memory. Thread safety: as Buffer.
class SharedBuffer {
 public:
  SharedBuffer() = default;
  SharedBuffer(SharedMemory memory, Buffer buffer)
      : memory_(std::move(memory)), buffer_(std::move(buffer)) {}

  std::byte* data() const { return memory_.data(); }
  int64_t size_bytes() const { return memory_.size_bytes(); }
  // Size / sizeof(T) elements from the start, which is aligned to a page.
  template <typename T>
  absl::Span<T> elements() const {
    return {reinterpret_cast<T*>(data()), static_cast<size_t>(size_bytes()) / sizeof(T)};
  }

  const Buffer& buffer() const { return buffer_; }
  BufferMatrix AsMatrix(DType dtype, int64_t rows, int64_t columns, int64_t offset_bytes = 0,
                        int64_t row_stride = 0) const {
    return buffer_.AsMatrix(dtype, rows, columns, offset_bytes, row_stride);
  }
  BufferOutput AsOutput(int64_t offset_bytes = 0, int64_t row_stride = 0) const {
    return buffer_.AsOutput(offset_bytes, row_stride);
  }

 private:
  SharedMemory memory_;  // outlives the buffer
  Buffer buffer_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SHARED_MEMORY_H_
