// Memory, streams and events of the CPU device. Work is done when a call returns, so a stream has
// nothing to wait for and an event is a time.

#ifndef WINNOW_KERNELS_CPU_HOST_MEMORY_H_
#define WINNOW_KERNELS_CPU_HOST_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "winnow/kernels/device.h"

namespace winnow::cpu {

// Page-aligned, read as zeros at first. ResourceExhausted when the system has not got it.
absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateHostMemory(int64_t bytes,
                                                                 int64_t limit_bytes);

std::unique_ptr<Stream> MakeHostStream();
std::unique_ptr<Event> MakeHostEvent();

// Model name of the processor, "unknown processor" when the system does not say.
std::string ProcessorName();
// Cores that the process may use: its affinity, and its control group's quota rounded up.
int32_t UsableCores();
int64_t PhysicalMemoryBytes();

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_HOST_MEMORY_H_
