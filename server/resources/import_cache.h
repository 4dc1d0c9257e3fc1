// Foreign GPU memory that is mapped now. An engine's tensors lie in few large allocations, and each
// handle names a whole one: it is mapped once and shared by all buffers made of it.

#ifndef WINNOW_SERVER_RESOURCES_IMPORT_CACHE_H_
#define WINNOW_SERVER_RESOURCES_IMPORT_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "winnow/kernels/device.h"

namespace winnow::server {

// The memory is unmapped when the last buffer lets go of it, which is after the last launch that
// used it. Thread safety: safe to call from several threads; opens of one cache take turns.
class ImportCache {
 public:
  // The allocation that `handle` names, as MemorySharing::OpenIpcHandle gives it.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> Open(MemorySharing& sharing,
                                                     absl::string_view handle);

  // Allocations that are mapped.
  int64_t size();

 private:
  void ForgetClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex open_mu_ ABSL_ACQUIRED_BEFORE(mu_);  // held while the device opens a handle
  absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::weak_ptr<DeviceMemory>> mapped_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_IMPORT_CACHE_H_
