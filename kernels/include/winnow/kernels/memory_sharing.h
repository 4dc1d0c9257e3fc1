// Memory that a device shares with other processes of the host, in place: GPU memory that another
// process allocated, host memory that both map, and memory allocated here for others. Also the
// words by which two processes order their work on one GPU without the host.
//
// Whoever shares memory with this process is not trusted: all that can be wrong with a handle is an
// error. A device keeps foreign memory alive while it is mapped, whatever its owner does.
// Thread safety: safe to call from several threads; a stream from one at a time.

#ifndef WINNOW_KERNELS_MEMORY_SHARING_H_
#define WINNOW_KERNELS_MEMORY_SHARING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace winnow {

class DeviceMemory;
class Stream;

// Bytes of a handle as the GPU's runtime gives it (cudaIpcMemHandle_t).
inline constexpr int64_t kIpcHandleBytes = 64;

// How memory of this process is handed to another one.
enum class ExportKind {
  kIpcHandle = 1,   // 64 bytes that name the allocation to any process of the host
  kDescriptor = 2,  // a file descriptor of CUDA virtual memory
};

// An allocation that others may map. It holds nothing else: whoever maps it sees all of it.
class ExportedMemory {
 public:
  virtual ~ExportedMemory() = default;
  virtual std::byte* data() const = 0;
  // Of the whole allocation, at least what was asked for: what an importer must name.
  virtual int64_t allocation_bytes() const = 0;
  // kIpcHandle: the 64 bytes. FailedPrecondition for the other kind.
  virtual absl::StatusOr<std::string> IpcHandle() = 0;
  // kDescriptor: a new descriptor, the caller's to close. FailedPrecondition for the other kind.
  virtual absl::StatusOr<int> Descriptor() = 0;
};

class MemorySharing {
 public:
  virtual ~MemorySharing() = default;

  // The whole allocation that a handle of another process names. InvalidArgument
  // (DATA_SIZE_MISMATCH) for another size of handle, FailedPrecondition (IMPORT_REFUSED) when the
  // driver does not take it: the owner ended, or it is this process.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> OpenIpcHandle(absl::string_view handle) = 0;

  // CUDA virtual memory of another process, one descriptor for each `chunk_bytes`, mapped one after
  // the other. With `read_only` the device cannot write it. InvalidArgument (VALUE_OUT_OF_RANGE)
  // for sizes that are no multiple of the granularity, FailedPrecondition (IMPORT_REFUSED) for
  // descriptors of other things and chunks of another size. The descriptors stay the caller's.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> MapDescriptors(
      absl::Span<const int> descriptors, int64_t chunk_bytes, bool read_only) = 0;

  // Makes `bytes` of writable host memory, page-aligned, usable by the device in place; the
  // result's data() is the device's address. Its pages stay where they are until the result is
  // destroyed, and `host` must stay mapped as long. FailedPrecondition (IMPORT_REFUSED) when the
  // host refuses.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> RegisterHostMemory(std::byte* host,
                                                                           int64_t bytes) = 0;

  // Zeroed memory for export. ResourceExhausted when it is not there. Takes no part of any pool:
  // not for the path of a request.
  virtual absl::StatusOr<std::unique_ptr<ExportedMemory>> AllocateForExport(ExportKind kind,
                                                                            int64_t bytes) = 0;

  // Enqueues a wait until the word is `value` or up to 2^31 - 1 past it, counted around. What
  // follows on the stream sees what the writer wrote before it set the word. `word` is device
  // memory or registered host memory, 4-byte aligned.
  virtual absl::Status AwaitWord(Stream& stream, const std::byte* word, uint32_t value) = 0;
  // Enqueues a write of the word, after all that the stream was given before.
  virtual absl::Status SetWord(Stream& stream, std::byte* word, uint32_t value) = 0;
};

}  // namespace winnow

#endif  // WINNOW_KERNELS_MEMORY_SHARING_H_
