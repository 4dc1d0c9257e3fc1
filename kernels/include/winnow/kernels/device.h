// A device executes the operations: the CPU of this process, or one GPU. One interface, so that the
// server, the contract suite and a program that links the library treat both alike.
//
// Ordering: work on one stream runs in the order it was enqueued. The CPU device has finished when
// a call returns; a GPU has only enqueued. Nothing here uses a default stream, and no operation
// allocates or synchronises. Thread safety: a Device may be used from several threads; one Stream,
// with its workspace, from one at a time. Next: reference.h for the oracle; kernels/README.md for
// how an implementation is laid out.

#ifndef WINNOW_KERNELS_DEVICE_H_
#define WINNOW_KERNELS_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "winnow/kernels/memory_sharing.h"
#include "winnow/kernels/operations.h"

namespace winnow {

struct DeviceInfo {
  std::string kind;  // "cpu" or "cuda"
  std::string name;  // of the processor or GPU
  int32_t ordinal = 0;
  int32_t multiprocessors = 0;  // CPU: worker threads
  int32_t capability_major = 0;
  int32_t capability_minor = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int32_t max_cluster_size = 0;  // 0: no clusters
  int32_t pool_width = 0;        // thread blocks (threads) that may share rows at once
  std::string
      pool_note;  // why the pool is what it is, e.g. the occupancy found or the fallback taken
  bool host_memory = false;            // host pointers are device pointers
  std::string instruction_set;         // CPU: the vector instructions in use
  bool multi_process_service = false;  // CUDA: the context is a client of MPS
};

enum class MemoryKind { kDevice, kPinnedHost };

// Memory of one device; freed by the destructor. Never resized.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() const = 0;
  virtual int64_t size_bytes() const = 0;
};

enum class StreamPriority { kNormal, kHigh };

// A queue of device work. Destroying it waits for what was enqueued.
class Stream {
 public:
  virtual ~Stream() = default;
  // Blocks until everything enqueued so far is done. Unavailable when the device is lost; Internal
  // on its own failure.
  virtual absl::Status Synchronize() = 0;
};

// A point in a stream. Record again to reuse it.
class Event {
 public:
  virtual ~Event() = default;
  virtual absl::Status Record(Stream& stream) = 0;
  // Blocks until the recorded point is reached. Burns no core beyond the first 100 microseconds.
  virtual absl::Status Wait() = 0;
  virtual absl::StatusOr<bool> Done() = 0;
  // Microseconds on the device's clock from `start` to this point; both must have been reached.
  virtual absl::StatusOr<double> MicrosSince(const Event& start) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  // ResourceExhausted when the memory is not there.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemoryKind kind,
                                                                 int64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream(StreamPriority priority) = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> CreateEvent() = 0;

  // Between any two of host and device memory. Host memory must stay valid until the copy is done,
  // and be pinned for the copy to be asynchronous.
  virtual absl::Status Copy(Stream& stream, void* destination, const void* source,
                            int64_t bytes) = 0;
  // `height` rows of `width_bytes`; pitches in bytes.
  virtual absl::Status CopyRows(Stream& stream, void* destination, int64_t destination_pitch_bytes,
                                const void* source, int64_t source_pitch_bytes, int64_t width_bytes,
                                int64_t height) = 0;
  virtual absl::Status Fill(Stream& stream, void* destination, int value, int64_t bytes) = 0;

  // Ok while the device answers. Unavailable, for good, once its context is lost.
  virtual absl::Status Healthy() = 0;

  // Memory shared with other processes; null for a device that shares none, such as the CPU, whose
  // memory other processes share without its help. Lives as long as the device.
  virtual MemorySharing* memory_sharing() { return nullptr; }

  // Bytes of scratch memory the operation needs for these segments; the workspace passed must be
  // device memory of at least that size, 256-byte aligned, used by one stream at a time. Contents
  // need no initialisation.
  virtual int64_t TopKWorkspaceBytes(const TopKParams& params,
                                     absl::Span<const TopKSegment> segments) const = 0;
  virtual int64_t PublishWorkspaceBytes(const PublishParams& params,
                                        absl::Span<const PublishSegment> segments) const = 0;

  // The operations. InvalidArgument from the checks of operations.h: nothing is enqueued then.
  // ResourceExhausted if the workspace is too small. Faults found in device data go to each
  // segment's report and harm no other segment. Segments must not overlap in what they write; the
  // span itself may be destroyed when the call returns.
  virtual absl::Status TopK(Stream& stream, const TopKParams& params,
                            absl::Span<const TopKSegment> segments,
                            absl::Span<std::byte> workspace) = 0;
  virtual absl::Status BlockAmax(Stream& stream, const BlockAmaxParams& params,
                                 absl::Span<const BlockAmaxSegment> segments) = 0;
  virtual absl::Status SortCandidateBlocks(Stream& stream, const SortBlocksParams& params,
                                           absl::Span<const SortBlocksSegment> segments) = 0;
  virtual absl::Status PublishCandidates(Stream& stream, const PublishParams& params,
                                         absl::Span<const PublishSegment> segments,
                                         absl::Span<std::byte> workspace) = 0;
  // Writes PlanBytes(rows) bytes at `plan`. `lengths` is device memory; the result is the same as
  // HostPlan's for the same device.
  virtual absl::Status PlanTopK(Stream& stream, const PlanParams& params, const int32_t* lengths,
                                int32_t rows, std::byte* plan) = 0;
  // The same plan from lengths in host memory, written to host memory. Uses no stream.
  virtual absl::Status HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                                std::byte* plan) const = 0;

  // Clusters of `cluster_size` blocks resident at once with `blocks_per_sm` blocks on each
  // multiprocessor. FailedPrecondition, naming device, width and blocks, when none fits;
  // Unimplemented on the CPU.
  virtual absl::StatusOr<int32_t> ProbeOccupancy(int32_t cluster_size, int32_t blocks_per_sm) = 0;
};

struct CpuDeviceOptions {
  int32_t threads = 0;  // 0: one per core that the process may use
};
absl::StatusOr<std::unique_ptr<Device>> OpenCpuDevice(const CpuDeviceOptions& options);

struct CudaDeviceOptions {
  int32_t ordinal = 0;
};
// Unimplemented in a build without CUDA; Unavailable, saying why, when no usable device answers.
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(const CudaDeviceOptions& options);
// Number of CUDA devices that answer; 0 in a build without CUDA.
int32_t CudaDeviceCount();

}  // namespace winnow

#endif  // WINNOW_KERNELS_DEVICE_H_
