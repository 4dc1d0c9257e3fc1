#include "kernels/cpu/host_memory.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "winnow/kernels/error.h"

namespace winnow::cpu {
namespace {

class HostMemory final : public DeviceMemory {
 public:
  HostMemory(void* data, int64_t size_bytes) : data_(data), size_bytes_(size_bytes) {}
  ~HostMemory() override { munmap(data_, static_cast<size_t>(size_bytes_)); }
  std::byte* data() const override { return static_cast<std::byte*>(data_); }
  int64_t size_bytes() const override { return size_bytes_; }

 private:
  void* data_;
  int64_t size_bytes_;
};

class HostStream final : public Stream {
 public:
  absl::Status Synchronize() override { return absl::OkStatus(); }
};

class HostEvent final : public Event {
 public:
  absl::Status Record(Stream&) override {
    time_ = std::chrono::steady_clock::now();
    return absl::OkStatus();
  }
  absl::Status Wait() override { return absl::OkStatus(); }
  absl::StatusOr<bool> Done() override { return true; }
  absl::StatusOr<double> MicrosSince(const Event& start) override {
    const auto elapsed = time_ - static_cast<const HostEvent&>(start).time_;
    return std::chrono::duration<double, std::micro>(elapsed).count();
  }

 private:
  std::chrono::steady_clock::time_point time_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateHostMemory(int64_t bytes,
                                                                 int64_t limit_bytes) {
  if (bytes <= 0) {
    return InvalidField(ErrorReason::kValueOutOfRange, "bytes", bytes, "1 or more");
  }
  void* data = MAP_FAILED;
  if (bytes <= limit_bytes) {
    data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (data == MAP_FAILED) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        absl::StrCat("bytes is ", bytes, " but the system has not got so much memory; ", "it has ",
                     limit_bytes, " in all"),
        {.reason = ErrorReason::kMemoryExhausted,
         .field = "bytes",
         .value = absl::StrCat(bytes),
         .limit = absl::StrCat(limit_bytes)});
  }
  return std::make_unique<HostMemory>(data, bytes);
}

std::unique_ptr<Stream> MakeHostStream() { return std::make_unique<HostStream>(); }
std::unique_ptr<Event> MakeHostEvent() { return std::make_unique<HostEvent>(); }

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return std::string(absl::StripLeadingAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "unknown processor";
}

int32_t UsableCores() {
  int32_t cores = 1;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = std::max(CPU_COUNT(&set), 1);
  // A container's limit: "quota period", or "max period" for none.
  std::ifstream limit("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (limit >> quota >> period && quota > 0 && period > 0) {
    cores = std::min(cores, static_cast<int32_t>(std::ceil(quota / period)));
  }
  return std::max(cores, 1);
}

int64_t PhysicalMemoryBytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace winnow::cpu
