#include "server/app/device_set.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"
#include "winnow/kernels/with_message.h"

namespace winnow::server {
namespace {

// Names the setting that decides about an error of opening a device.
absl::Status WithWayOut(const absl::Status& status, const ServerConfig& config) {
  if (config.backend != "cpu" && (absl::IsUnavailable(status) || absl::IsUnimplemented(status))) {
    return WithMessage(status, absl::StrCat("--backend=", config.backend, ": ", status.message(),
                                            "; or start with --backend=cpu"));
  }
  if (absl::IsResourceExhausted(status)) {
    return WithMessage(status, absl::StrCat(status.message(),
                                            "; lower --buffer-pool-bytes or --staging-pool-bytes"));
  }
  return status;
}

absl::Status OfDevice(int32_t number, size_t devices, const absl::Status& status) {
  if (devices == 1 || status.ok()) return status;
  return WithMessage(status, absl::StrCat("device ", number, ": ", status.message()));
}

// CPU devices share the host's cores.
int32_t ThreadsEach(const ServerConfig& config, size_t devices) {
  if (config.threads > 0 || devices == 1) return config.threads;
  const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  return std::max(1, cores / static_cast<int32_t>(devices));
}

}  // namespace

SchedulerOptions QueueLimits(const ServerConfig& config) {
  return {.max_queued_tasks = config.max_queued_requests,
          .max_queued_host_bytes = config.max_queued_bytes,
          .max_batch_items = config.max_batch_requests,
          .max_batch_rows = config.max_batch_rows,
          .max_batch_bytes = config.max_batch_bytes};
}

absl::StatusOr<std::unique_ptr<DeviceSet>> DeviceSet::Open(const ServerConfig& config,
                                                           const BackendOpener& open_backend,
                                                           Clock* clock) {
  auto set = std::unique_ptr<DeviceSet>(new DeviceSet());
  const std::vector<int32_t> numbers = config.DeviceNumbers();
  std::string kind = config.backend;
  for (const int32_t number : numbers) {
    auto device = std::make_unique<Device>();
    device->number = number;
    auto backend = open_backend({.kind = kind,
                                 .device_ordinal = number,
                                 .cpu_threads = ThreadsEach(config, numbers.size()),
                                 .launch_slots = config.launch_slots,
                                 .buffer_pool_bytes = config.buffer_pool_bytes,
                                 .staging_pool_bytes = config.staging_pool_bytes});
    if (!backend.ok()) {
      return OfDevice(number, numbers.size(), WithWayOut(backend.status(), config));
    }
    device->backend = *std::move(backend);
    device->scheduler = Scheduler::Create(QueueLimits(config), device->backend.get(), clock);
    kind = device->backend->info().device.kind;
    set->served_.push_back({.number = number,
                            .backend = device->backend.get(),
                            .scheduler = device->scheduler.get(),
                            .imports = &device->imports});
    set->devices_.push_back(std::move(device));
  }
  return set;
}

std::vector<LeaseDevice> DeviceSet::ForLeases() const {
  std::vector<LeaseDevice> devices;
  for (const ServedDevice& device : served_) {
    devices.push_back(
        {.number = device.number, .max_bytes = device.backend->info().buffer_pool_bytes});
  }
  return devices;
}

std::string DeviceSet::Names() const {
  if (served_.size() == 1) return served_[0].backend->info().device.name;
  return absl::StrJoin(served_, ", ", [](std::string* text, const ServedDevice& device) {
    absl::StrAppend(text, device.number, " ", device.backend->info().device.name);
  });
}

std::string DeviceSet::MpsState() const {
  if (kind() != "cuda") return "none";
  // MPS serves a process, not a GPU: either all are behind it or none is.
  return served_[0].backend->info().device.multi_process_service ? "on" : "off";
}

absl::Status DeviceSet::Healthy() {
  for (const ServedDevice& device : served_) {
    WINNOW_RETURN_IF_ERROR(OfDevice(device.number, served_.size(), device.backend->Healthy()));
  }
  return absl::OkStatus();
}

void DeviceSet::BeginDrain() {
  for (const ServedDevice& device : served_) device.scheduler->BeginDrain();
}

void DeviceSet::DrainSchedulers(absl::Time deadline) {
  for (const ServedDevice& device : served_) device.scheduler->Drain(deadline);
}

void DeviceSet::DrainBackends() {
  for (const ServedDevice& device : served_) device.backend->Drain();
}

}  // namespace winnow::server
