// The memory of one launch as one block of bytes, the same on the host and on the device: inputs,
// outputs and reports at known offsets, sentinels around each. After the launch everything but the
// outputs must be what it was.

#ifndef WINNOW_TESTS_CONTRACT_MEMORY_IMAGE_H_
#define WINNOW_TESTS_CONTRACT_MEMORY_IMAGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "winnow/kernels/device.h"

namespace winnow::contract {

class MemoryImage {
 public:
  // Offset of `bytes` new sentinel bytes, `past_alignment` bytes past a multiple of 256, with
  // sentinels on both sides.
  int64_t Reserve(int64_t bytes, int64_t past_alignment = 0);

  template <typename T>
  int64_t Put(const std::vector<T>& values) {
    const int64_t offset = Reserve(static_cast<int64_t>(values.size() * sizeof(T)));
    std::copy(values.begin(), values.end(), At<T>(offset));
    return offset;
  }

  template <typename T>
  T* At(int64_t offset) {
    return reinterpret_cast<T*>(bytes_.data() + offset);
  }

  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

  // Sets bytes to zero, so that two images can be compared without them.
  void Blank(int64_t offset, int64_t bytes);
  // Offset of the first byte that differs, -1 when none does.
  int64_t FirstDifference(const MemoryImage& other) const;

 private:
  std::vector<std::byte> bytes_;
};

// Runs launches of one stream on one device. Not thread-safe.
class Executor {
 public:
  static absl::StatusOr<std::unique_ptr<Executor>> Create(Device& device);

  // Copies `image` up, calls `launch` with the device address of its first byte, waits, and copies
  // the image back into `image`. The launch's own error is returned.
  absl::Status Run(MemoryImage& image, absl::FunctionRef<absl::Status(Stream&, std::byte*)> launch);

  // Device memory of at least `bytes`, followed by sentinels; the same memory on every call unless
  // it must grow.
  absl::StatusOr<absl::Span<std::byte>> Workspace(int64_t bytes);
  // DataLoss when a launch wrote past the workspace last asked for.
  absl::Status CheckWorkspaceGuard();

  Device& device() { return device_; }
  Stream& stream() { return *stream_; }

 private:
  explicit Executor(Device& device) : device_(device) {}
  absl::Status Grow(std::unique_ptr<DeviceMemory>& memory, int64_t bytes);

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<DeviceMemory> workspace_;
  int64_t workspace_bytes_ = 0;
};

}  // namespace winnow::contract

#endif  // WINNOW_TESTS_CONTRACT_MEMORY_IMAGE_H_
