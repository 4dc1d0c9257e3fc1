#include "server/resources/import_cache.h"

#include <utility>

#include "winnow/kernels/status_macros.h"

namespace winnow::server {

absl::StatusOr<std::shared_ptr<DeviceMemory>> ImportCache::Open(MemorySharing& sharing,
                                                                absl::string_view handle) {
  absl::MutexLock opening(&open_mu_);
  {
    absl::MutexLock lock(&mu_);
    const auto found = mapped_.find(handle);
    if (found != mapped_.end()) {
      if (auto memory = found->second.lock()) return memory;
    }
  }
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory, sharing.OpenIpcHandle(handle));
  absl::MutexLock lock(&mu_);
  ForgetClosed();
  mapped_[std::string(handle)] = memory;
  return memory;
}

int64_t ImportCache::size() {
  absl::MutexLock lock(&mu_);
  ForgetClosed();
  return static_cast<int64_t>(mapped_.size());
}

void ImportCache::ForgetClosed() {
  absl::erase_if(mapped_, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace winnow::server
