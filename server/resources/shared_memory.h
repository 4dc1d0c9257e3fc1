// Shared memory of another process, mapped from a descriptor that it sent. The peer is not trusted:
// it may truncate the memory at any time, which would kill a reader with SIGBUS; bus_error_guard.h
// keeps the server alive then.

#ifndef WINNOW_SERVER_RESOURCES_SHARED_MEMORY_H_
#define WINNOW_SERVER_RESOURCES_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::server {

// A file descriptor that closes itself. Move only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();
  void Reset();

 private:
  int fd_ = -1;
};

class SharedMemory {
 public:
  struct Options {
    int64_t offset_bytes = 0;  // a multiple of the page size
    int64_t size_bytes = 0;    // at least 1
    bool read_only = false;
    // For memory that a device reads: it meets no bus error, so Intact() looks at the size itself.
    // Keeps a descriptor.
    bool watch_size = false;
  };

  // Maps a part of the shared memory behind `fd` (shm_open or memfd_create). InvalidArgument for
  // other kinds of files (FIELDS_CONFLICT), offsets that are not page-aligned (ALIGNMENT_INVALID)
  // and ranges past the end (RANGE_OUT_OF_BOUNDS); PermissionDenied when the descriptor may not be
  // written and the import is not read-only; ResourceExhausted when the process has no room for
  // another mapping. `fd` may be closed afterwards.
  static absl::StatusOr<std::unique_ptr<SharedMemory>> Map(const UniqueFd& fd,
                                                           const Options& options);
  ~SharedMemory();

  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  bool read_only() const { return read_only_; }
  absl::Status Intact() const;

 private:
  SharedMemory(std::byte* data, const Options& options, int guard, UniqueFd watched)
      : data_(data),
        size_bytes_(options.size_bytes),
        end_bytes_(options.offset_bytes + options.size_bytes),
        read_only_(options.read_only),
        guard_(guard),
        watched_(std::move(watched)) {}

  std::byte* const data_;
  const int64_t size_bytes_;
  const int64_t end_bytes_;  // in the file
  const bool read_only_;
  const int guard_;         // of bus_error_guard.h
  const UniqueFd watched_;  // invalid unless the size is watched
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_SHARED_MEMORY_H_
