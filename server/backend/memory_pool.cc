#include "server/backend/memory_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/checked_math.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {

FreeRanges::FreeRanges(int64_t bytes) {
  const int64_t whole = bytes / kPoolAlignment * kPoolAlignment;
  if (whole > 0) free_.emplace(0, whole);
}

std::optional<int64_t> FreeRanges::Take(int64_t bytes) {
  const int64_t wanted = AlignUp(std::max<int64_t>(bytes, 1), kPoolAlignment);
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [offset, available] = *range;
    if (available < wanted) continue;
    used_bytes_ += wanted;
    // The node is kept where something is left: every launch comes by here.
    auto node = free_.extract(range);
    if (available > wanted) {
      node.key() = offset + wanted;
      node.mapped() = available - wanted;
      free_.insert(std::move(node));
    }
    return offset;
  }
  return std::nullopt;
}

void FreeRanges::Give(int64_t offset, int64_t bytes) {
  int64_t given = AlignUp(std::max<int64_t>(bytes, 1), kPoolAlignment);
  used_bytes_ -= given;
  auto next = free_.lower_bound(offset);
  std::map<int64_t, int64_t>::node_type neighbour;
  if (next != free_.end() && next->first == offset + given) {
    given += next->second;
    neighbour = free_.extract(next++);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += given;
      return;
    }
  }
  if (neighbour.empty()) {
    free_.emplace(offset, given);
    return;
  }
  neighbour.key() = offset;
  neighbour.mapped() = given;
  free_.insert(std::move(neighbour));
}

struct PoolPiece::Shared {
  Shared(std::unique_ptr<DeviceMemory> pool_memory, std::string pool_name)
      : memory(std::move(pool_memory)),
        name(std::move(pool_name)),
        capacity(memory->size_bytes() / kPoolAlignment * kPoolAlignment),
        ranges(memory->size_bytes()) {}

  const std::unique_ptr<DeviceMemory> memory;
  const std::string name;
  const int64_t capacity;
  mutable absl::Mutex mu;
  FreeRanges ranges ABSL_GUARDED_BY(mu);
  absl::CondVar given_back;
};

PoolPiece::PoolPiece(std::shared_ptr<Shared> pool, std::byte* data, int64_t bytes)
    : pool_(std::move(pool)), data_(data), bytes_(bytes) {}

PoolPiece::~PoolPiece() {
  absl::MutexLock lock(&pool_->mu);
  pool_->ranges.Give(data_ - pool_->memory->data(), bytes_);
  pool_->given_back.SignalAll();
}

namespace {

absl::Status Exhausted(absl::string_view name, int64_t bytes, int64_t used, int64_t capacity) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat(name, " memory has ", used, " of ", capacity,
                                " bytes in use and no room for ", bytes, " more"),
                   {.reason = ErrorReason::kMemoryExhausted,
                    .value = absl::StrCat(used),
                    .limit = absl::StrCat(capacity, " bytes")});
}

}  // namespace

MemoryPool::MemoryPool(std::shared_ptr<PoolPiece::Shared> shared) : shared_(std::move(shared)) {}

absl::StatusOr<std::unique_ptr<MemoryPool>> MemoryPool::Create(Device& device, MemoryKind kind,
                                                               int64_t bytes, std::string name) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, device.Allocate(kind, bytes));
  return std::unique_ptr<MemoryPool>(
      new MemoryPool(std::make_shared<PoolPiece::Shared>(std::move(memory), std::move(name))));
}

absl::StatusOr<std::unique_ptr<PoolPiece>> MemoryPool::Allocate(int64_t bytes) {
  if (bytes < 1) {
    return InvalidField(ErrorReason::kValueOutOfRange, "size_bytes", bytes,
                        absl::StrCat("1 to ", shared_->capacity));
  }
  absl::MutexLock lock(&shared_->mu);
  const auto offset = bytes > shared_->capacity ? std::nullopt : shared_->ranges.Take(bytes);
  if (!offset.has_value()) {
    return Exhausted(shared_->name, bytes, shared_->ranges.used_bytes(), shared_->capacity);
  }
  return std::unique_ptr<PoolPiece>(
      new PoolPiece(shared_, shared_->memory->data() + *offset, bytes));
}

absl::StatusOr<std::unique_ptr<PoolPiece>> MemoryPool::AwaitAllocate(int64_t bytes) {
  absl::MutexLock lock(&shared_->mu);
  if (bytes > shared_->capacity) {
    return Exhausted(shared_->name, bytes, shared_->ranges.used_bytes(), shared_->capacity);
  }
  std::optional<int64_t> offset;
  while (!(offset = shared_->ranges.Take(bytes)).has_value()) {
    shared_->given_back.Wait(&shared_->mu);
  }
  return std::unique_ptr<PoolPiece>(
      new PoolPiece(shared_, shared_->memory->data() + *offset, bytes));
}

std::byte* MemoryPool::base() const { return shared_->memory->data(); }
int64_t MemoryPool::capacity_bytes() const { return shared_->capacity; }
int64_t MemoryPool::used_bytes() const {
  absl::MutexLock lock(&shared_->mu);
  return shared_->ranges.used_bytes();
}

}  // namespace winnow::server
