// One step of a staged launch as calls of the device: a segment for each item that has rows.

#ifndef WINNOW_SERVER_BACKEND_STEP_SEGMENTS_H_
#define WINNOW_SERVER_BACKEND_STEP_SEGMENTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/backend/staged_launch.h"
#include "winnow/kernels/device.h"

namespace winnow::server {

// Scratch memory that the device needs for the step. The launch is bound.
int64_t WorkspaceBytes(const Device& device, const StagedLaunch& launch, size_t step);

// Enqueues plans for static thresholds and the operation itself. Errors are the device's.
absl::Status EnqueueStep(Device& device, Stream& stream, const StagedLaunch& launch, size_t step,
                         absl::Span<std::byte> workspace);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_STEP_SEGMENTS_H_
