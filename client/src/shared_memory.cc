#include "winnow/client/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/client/unique_descriptor.h"
#include "winnow/kernels/error.h"

namespace winnow::client {
namespace {

absl::Status NoMemory(int64_t size_bytes, absl::string_view what) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("size_bytes is ", size_bytes, "; the system has no such shared memory: ", what,
                   ": ", std::strerror(errno)),
      {.reason = ErrorReason::kMemoryExhausted,
       .field = "size_bytes",
       .value = absl::StrCat(size_bytes)});
}

}  // namespace

absl::StatusOr<SharedMemory> SharedMemory::Create(int64_t size_bytes) {
  if (size_bytes < 1) {
    return InvalidField(ErrorReason::kValueOutOfRange, "size_bytes", size_bytes, "1 or more");
  }
  UniqueDescriptor descriptor(memfd_create("winnow", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor.valid()) return NoMemory(size_bytes, "memfd_create");
  if (ftruncate(descriptor.get(), size_bytes) != 0) return NoMemory(size_bytes, "ftruncate");
  // A peer that could shrink it would make this process fault at its next access.
  if (fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return NoMemory(size_bytes, "seal");
  }
  void* data = mmap(nullptr, static_cast<size_t>(size_bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                    descriptor.get(), 0);
  if (data == MAP_FAILED) return NoMemory(size_bytes, "mmap");
  SharedMemory memory;
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_bytes_ = size_bytes;
  memory.descriptor_ = descriptor.Take();
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(size_bytes_));
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace winnow::client
