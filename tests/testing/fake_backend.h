// A backend that computes nothing: tests see what is launched and say when it is done.

#ifndef WINNOW_TESTS_TESTING_FAKE_BACKEND_H_
#define WINNOW_TESTS_TESTING_FAKE_BACKEND_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/backend/backend.h"

namespace winnow::server {

// Every int32 output that goes inline or to host memory holds, in row r, the number of the row
// within the whole request. Thread safety: safe to call from several threads.
class FakeBackend final : public Backend {
 public:
  struct LaunchRecord {
    std::vector<const WorkItem*> items;
    std::vector<const void*> kept_alive;  // by each item; null for a slice of one
    std::vector<int64_t> first_rows;      // of each item
    std::vector<int64_t> rows;            // of each item
    bool high_priority = false;
    bool gives_way = false;
  };

  // With `automatic_seed` launches complete by themselves, soon and in random order; otherwise when
  // the test says so.
  explicit FakeBackend(int32_t launch_slots, uint32_t automatic_seed = 0);
  // Nothing may be in flight.
  ~FakeBackend() override;

  // Completes the oldest launch in flight with `status` for each item, from the backend's thread.
  // Returns when its callback has returned.
  void CompleteOldest(const absl::Status& status = absl::OkStatus());

  std::vector<LaunchRecord> launches() const;
  int64_t in_flight() const;
  int32_t most_in_flight() const;
  void AwaitLaunches(int64_t count) const;

  const BackendInfo& info() const override { return info_; }
  BackendStats stats() const override { return {}; }
  void Launch(std::unique_ptr<WorkBatch> batch, Done done) override;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateBuffer(int64_t bytes) override;
  absl::Status CopyToDevice(std::byte* device, const std::byte* host, int64_t bytes) override;
  absl::Status CopyToHost(std::byte* host, const std::byte* device, int64_t bytes) override;
  absl::Status HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                        std::byte* plan) const override;
  absl::StatusOr<int32_t> ProbeOccupancy(int32_t cluster_size, int32_t blocks_per_sm) override;
  absl::Status Healthy() override { return absl::OkStatus(); }
  void Drain() override;

 private:
  struct InFlight {
    std::unique_ptr<WorkBatch> batch;
    Done done;
    absl::Status status;
  };

  void Run();
  bool automatic() const { return automatic_seed_ != 0; }

  BackendInfo info_;
  const uint32_t automatic_seed_;
  mutable absl::Mutex mu_;
  std::vector<LaunchRecord> launches_ ABSL_GUARDED_BY(mu_);
  std::deque<InFlight> in_flight_ ABSL_GUARDED_BY(mu_);   // not told to complete
  std::deque<InFlight> completing_ ABSL_GUARDED_BY(mu_);  // told to, in this order
  int64_t calling_back_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t completed_ ABSL_GUARDED_BY(mu_) = 0;
  int32_t most_in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_TESTING_FAKE_BACKEND_H_
