// A backend that has memory and nothing else, and can be told to fail its copies.

#ifndef WINNOW_TESTS_SERVER_RESOURCES_MEMORY_BACKEND_H_
#define WINNOW_TESTS_SERVER_RESOURCES_MEMORY_BACKEND_H_

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "server/backend/backend.h"

namespace winnow::server {

class MemoryBackend final : public Backend {
 public:
  const BackendInfo& info() const override { return info_; }
  BackendStats stats() const override { return {}; }
  void Launch(std::unique_ptr<WorkBatch>, Done) override { std::abort(); }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateBuffer(int64_t bytes) override {
    return std::make_unique<HostMemory>(bytes);
  }
  absl::Status CopyToDevice(std::byte* device, const std::byte* host, int64_t bytes) override {
    ++copies;
    copied_bytes += bytes;
    if (fail_copies) return absl::UnavailableError("device is lost");
    std::memcpy(device, host, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status CopyToHost(std::byte* host, const std::byte* device, int64_t bytes) override {
    std::memcpy(host, device, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status HostPlan(const PlanParams&, const int32_t*, int32_t, std::byte*) const override {
    std::abort();
  }
  absl::StatusOr<int32_t> ProbeOccupancy(int32_t, int32_t) override { std::abort(); }
  absl::Status Healthy() override { return absl::OkStatus(); }
  void Drain() override {}

  std::atomic<bool> fail_copies{false};
  std::atomic<int64_t> copies{0};
  std::atomic<int64_t> copied_bytes{0};

 private:
  class HostMemory final : public DeviceMemory {
   public:
    explicit HostMemory(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {}
    std::byte* data() const override { return const_cast<std::byte*>(bytes_.data()); }
    int64_t size_bytes() const override { return static_cast<int64_t>(bytes_.size()); }

   private:
    std::vector<std::byte> bytes_;
  };

  BackendInfo info_;
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_RESOURCES_MEMORY_BACKEND_H_
