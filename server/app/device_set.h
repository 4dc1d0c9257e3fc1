// The devices of a server, each with a backend, a scheduler and what was imported on it. server.h
// has one; server/rpc/served_devices.h is what requests see of it.

#ifndef WINNOW_SERVER_APP_DEVICE_SET_H_
#define WINNOW_SERVER_APP_DEVICE_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/app/server.h"
#include "server/app/server_config.h"
#include "server/base/clock.h"
#include "server/resources/device_choice.h"
#include "server/rpc/served_devices.h"

namespace winnow::server {

// Thread safety: safe to call from several threads, but for the destructor.
class DeviceSet {
 public:
  // Opens all devices of `config`, with pools each, or none. Of "auto" the first device decides
  // which kind all are. Errors name the setting that helps and, of several, the device. `clock`
  // outlives the set.
  static absl::StatusOr<std::unique_ptr<DeviceSet>> Open(const ServerConfig& config,
                                                         const BackendOpener& open_backend,
                                                         Clock* clock);
  // Drained before.
  ~DeviceSet() = default;

  // In the order in which the configuration names them; at least one. Their pointers live as long
  // as the set.
  const std::vector<ServedDevice>& served() const { return served_; }
  // For a ledger.
  std::vector<LeaseDevice> ForLeases() const;
  // For the log: kind, numbers and names, and whether the GPUs run this process beside others.
  std::string kind() const { return served_[0].backend->info().device.kind; }
  std::string Names() const;
  std::string MpsState() const;

  // Unavailable when any of them is lost, naming which of several.
  absl::Status Healthy();

  // As of Scheduler, for all devices; time runs for all of them at once.
  void BeginDrain();
  void DrainSchedulers(absl::Time deadline);
  // As of Backend, after their schedulers.
  void DrainBackends();

 private:
  struct Device {
    int32_t number = 0;
    // In the order in which they are needed: a scheduler calls its backend.
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Scheduler> scheduler;
    ImportCache imports;
  };

  DeviceSet() = default;

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<ServedDevice> served_;
};

// What each device of a server with that configuration bounds its queue to.
SchedulerOptions QueueLimits(const ServerConfig& config);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_DEVICE_SET_H_
