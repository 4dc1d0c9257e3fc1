// Memory of fixed size that is handed out in pieces, so that nothing after the start asks the
// device for memory.

#ifndef WINNOW_SERVER_BACKEND_MEMORY_POOL_H_
#define WINNOW_SERVER_BACKEND_MEMORY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "winnow/kernels/device.h"

namespace winnow::server {

// Pieces start at multiples of this.
inline constexpr int64_t kPoolAlignment = 256;

// Which offsets of a range of bytes are free: first fit, neighbours merged when they are given
// back. Knows no memory. Thread safety: none.
class FreeRanges {
 public:
  explicit FreeRanges(int64_t bytes);

  // Offset of `bytes` (at least 1, rounded up to the alignment); nullopt when no gap is wide
  // enough.
  std::optional<int64_t> Take(int64_t bytes);
  // Gives back what Take returned for the same number of bytes.
  void Give(int64_t offset, int64_t bytes);

  int64_t used_bytes() const { return used_bytes_; }
  int64_t range_count() const { return static_cast<int64_t>(free_.size()); }

 private:
  std::map<int64_t, int64_t> free_;  // offset -> bytes, never adjacent
  int64_t used_bytes_ = 0;
};

// A piece of a pool; given back by the destructor, which may run after the pool's owner is gone.
class PoolPiece final : public DeviceMemory {
 public:
  ~PoolPiece() override;
  std::byte* data() const override { return data_; }
  int64_t size_bytes() const override { return bytes_; }

 private:
  friend class MemoryPool;
  struct Shared;
  PoolPiece(std::shared_ptr<Shared> pool, std::byte* data, int64_t bytes);

  // Shared, because a client's buffer may be released while the backend is shutting down.
  std::shared_ptr<Shared> pool_;
  std::byte* data_;
  int64_t bytes_;
};

// Thread safety: safe to call from several threads.
class MemoryPool {
 public:
  // `name` is for errors: "buffers", "staging".
  static absl::StatusOr<std::unique_ptr<MemoryPool>> Create(Device& device, MemoryKind kind,
                                                            int64_t bytes, std::string name);

  // ResourceExhausted (MEMORY_EXHAUSTED) with used and limit when there is no room now.
  // InvalidArgument (VALUE_OUT_OF_RANGE) below 1 byte.
  absl::StatusOr<std::unique_ptr<PoolPiece>> Allocate(int64_t bytes);
  // Waits until there is room; ResourceExhausted only for more than the pool could ever give.
  absl::StatusOr<std::unique_ptr<PoolPiece>> AwaitAllocate(int64_t bytes);

  std::byte* base() const;
  int64_t capacity_bytes() const;
  int64_t used_bytes() const;

 private:
  explicit MemoryPool(std::shared_ptr<PoolPiece::Shared> shared);
  std::shared_ptr<PoolPiece::Shared> shared_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_MEMORY_POOL_H_
