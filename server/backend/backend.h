// A backend executes batches of work on one device and owns that device's memory. One
// implementation over winnow::Device serves the CPU and CUDA (device_backend.h); tests use a fake
// (tests/testing/fake_backend.h).
//
// What a backend must provide:
//   Launch    never blocks on the device; calls back exactly once per batch, from a thread of the
//             backend, and holds no lock while it does. From inside Launch only when the
//             batch says `may_run_inline`.
//   Slots     info().launch_slots batches run at once; the caller keeps to it, and learns of a free
//             slot from the completion callback, from inside of which it may launch again.
//   Memory    comes from pools of fixed size; nothing on the path of Launch allocates device
//   memory. Shutdown  Drain() waits for what is in flight; destruction after Drain frees all.

#ifndef WINNOW_SERVER_BACKEND_BACKEND_H_
#define WINNOW_SERVER_BACKEND_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/backend/work.h"
#include "winnow/kernels/device.h"

namespace winnow::server {

struct BackendInfo {
  DeviceInfo device;
  std::string
      choice_reason;  // why this backend was taken, one sentence for the log and GetServerInfo
  int32_t launch_slots = 0;
  int64_t buffer_pool_bytes = 0;   // for client buffers
  int64_t staging_pool_bytes = 0;  // for inline inputs, outputs and workspaces
};

struct BackendStats {
  int64_t launches = 0;
  int64_t items = 0;
  int64_t rows = 0;
  int64_t faults = 0;  // items that failed on data found bad on the device
  int64_t route_rows[kRouteCount] = {};
  absl::Duration device_busy;
  int64_t staging_used_bytes = 0;
  int64_t buffer_used_bytes = 0;
};

class Backend {
 public:
  // Called once when every item of the batch has its status and results. The batch is given back.
  using Done = absl::AnyInvocable<void(std::unique_ptr<WorkBatch> batch) &&>;

  virtual ~Backend() = default;

  virtual const BackendInfo& info() const = 0;
  virtual BackendStats stats() const = 0;

  // Takes the batch; its items passed CheckItem, share a BatchKey and stay valid until `done` ran.
  // A failure of one item (bad data) is in that item's status; a failure of the whole launch is in
  // each item's.
  virtual void Launch(std::unique_ptr<WorkBatch> batch, Done done) = 0;

  // Device memory for a client's buffer, from the pool, filled with zeros. It may outlive the
  // backend. ResourceExhausted (MEMORY_EXHAUSTED) names used and limit.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateBuffer(int64_t bytes) = 0;
  // Copies between host memory and a buffer; block until done. Not for the hot path.
  virtual absl::Status CopyToDevice(std::byte* device, const std::byte* host, int64_t bytes) = 0;
  virtual absl::Status CopyToHost(std::byte* host, const std::byte* device, int64_t bytes) = 0;

  // A plan made for lengths in host memory (a copy of it is put on the device by the caller).
  virtual absl::Status HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                                std::byte* plan) const = 0;
  virtual absl::StatusOr<int32_t> ProbeOccupancy(int32_t cluster_size, int32_t blocks_per_sm) = 0;

  // Memory shared with other processes; null when the device shares none. Lives as long as the
  // backend; what it made may outlive it.
  virtual MemorySharing* memory_sharing() { return nullptr; }

  // Asks the device. Unavailable once it is lost.
  virtual absl::Status Healthy() = 0;

  // Waits until nothing is in flight. No Launch may follow.
  virtual void Drain() = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_BACKEND_H_
