#include "server/resources/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/resources/bus_error_guard.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Only memory file systems: a mapping of a file on a network or FUSE file system could block a
// worker for as long as its owner likes.
absl::Status CheckIsSharedMemory(int fd) {
  struct statfs file_system = {};
  struct stat status = {};
  const bool known = fstatfs(fd, &file_system) == 0 && fstat(fd, &status) == 0;
  const bool memory = known && S_ISREG(status.st_mode) &&
                      (file_system.f_type == TMPFS_MAGIC || file_system.f_type == HUGETLBFS_MAGIC);
  if (memory) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "import_token names no shared memory; make it with shm_open or memfd_create",
                   {.reason = ErrorReason::kFieldsConflict, .field = "import_token"});
}

absl::Status CheckRange(int fd, const SharedMemory::Options& options) {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  if (options.offset_bytes < 0 || options.offset_bytes % page_bytes != 0) {
    return InvalidField(ErrorReason::kAlignmentInvalid, "offset_bytes", options.offset_bytes,
                        absl::StrCat("multiples of ", page_bytes, " from 0"));
  }
  struct stat status = {};
  const int64_t file_bytes = fstat(fd, &status) == 0 ? static_cast<int64_t>(status.st_size) : 0;
  if (options.offset_bytes > file_bytes) {
    return InvalidField(ErrorReason::kRangeOutOfBounds, "offset_bytes", options.offset_bytes,
                        absl::StrCat("0 to ", file_bytes, ", the size of the shared memory"));
  }
  if (options.size_bytes < 1 || options.size_bytes > file_bytes - options.offset_bytes) {
    return InvalidField(ErrorReason::kRangeOutOfBounds, "size_bytes", options.size_bytes,
                        absl::StrCat("1 to ", file_bytes - options.offset_bytes,
                                     ", what the shared memory holds past the offset"));
  }
  return absl::OkStatus();
}

absl::Status MapError(int error) {
  if (error == EACCES || error == EPERM) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     "descriptor may not be written; import it with read_only",
                     {.reason = ErrorReason::kPermissionDenied, .field = "read_only"});
  }
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat("shared memory cannot be mapped: ", std::strerror(error)),
                   {.reason = ErrorReason::kMemoryExhausted, .field = "size_bytes"});
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

int UniqueFd::Release() { return std::exchange(fd_, -1); }

void UniqueFd::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Map(const UniqueFd& fd,
                                                                const Options& options) {
  WINNOW_RETURN_IF_ERROR(CheckIsSharedMemory(fd.get()));
  WINNOW_RETURN_IF_ERROR(CheckRange(fd.get(), options));
  const int protection = options.read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* mapped = mmap(nullptr, static_cast<size_t>(options.size_bytes), protection, MAP_SHARED,
                      fd.get(), options.offset_bytes);
  if (mapped == MAP_FAILED) return MapError(errno);
  auto* data = static_cast<std::byte*>(mapped);
  const int guard = GuardBusErrors(data, options.size_bytes);
  if (guard < 0) {
    munmap(mapped, static_cast<size_t>(options.size_bytes));
    return MakeError(absl::StatusCode::kResourceExhausted,
                     absl::StrCat("the server has ", kMaxBusErrorGuards,
                                  " imports, its most; release some first"),
                     {.reason = ErrorReason::kQuotaExceeded,
                      .value = absl::StrCat(kMaxBusErrorGuards),
                      .limit = absl::StrCat(kMaxBusErrorGuards, ", the imports of the server")});
  }
  UniqueFd watched(options.watch_size ? fcntl(fd.get(), F_DUPFD_CLOEXEC, 0) : -1);
  auto memory =
      std::unique_ptr<SharedMemory>(new SharedMemory(data, options, guard, std::move(watched)));
  if (options.watch_size && !memory->watched_.valid()) return MapError(errno);
  return memory;
}

SharedMemory::~SharedMemory() {
  UnguardBusErrors(guard_);
  munmap(data_, static_cast<size_t>(size_bytes_));
}

absl::Status SharedMemory::Intact() const {
  struct stat status = {};
  const bool shrunk =
      watched_.valid() && (fstat(watched_.get(), &status) != 0 || status.st_size < end_bytes_);
  if (!shrunk && !BusErrorCaught(guard_)) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "imported shared memory was truncated by its owner; import it again",
                   {.reason = ErrorReason::kRangeOutOfBounds, .field = "buffer"});
}

}  // namespace winnow::server
