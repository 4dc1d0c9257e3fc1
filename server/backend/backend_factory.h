// Chooses and opens the backend at start.

#ifndef WINNOW_SERVER_BACKEND_BACKEND_FACTORY_H_
#define WINNOW_SERVER_BACKEND_BACKEND_FACTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/backend/backend.h"

namespace winnow::server {

struct BackendOptions {
  std::string kind = "auto";  // "auto", "cuda" or "cpu"
  int32_t device_ordinal = 0;
  int32_t cpu_threads = 0;   // 0: one per usable core
  int32_t launch_slots = 4;  // batches in flight at once
  int64_t buffer_pool_bytes = int64_t{1} << 30;
  int64_t staging_pool_bytes = int64_t{256} << 20;
};

// "auto" takes CUDA if a usable device answers and says in BackendInfo::choice_reason which it took
// and why. InvalidArgument for an unknown kind; Unavailable when "cuda" was asked for and no device
// answers, Unimplemented (NOT_IN_BUILD) when the build has none; ResourceExhausted when a pool does
// not fit the device.
absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const BackendOptions& options);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_BACKEND_FACTORY_H_
