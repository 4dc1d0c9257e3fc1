// What the tests that need a GPU share: the device, opened once, and a graph that is captured once
// and replayed on changed memory.

#ifndef WINNOW_TESTS_GPU_GPU_TEST_H_
#define WINNOW_TESTS_GPU_GPU_TEST_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/runtime/stream.h"
#include "tests/contract/memory_image.h"
#include "tests/testing/random.h"

namespace winnow::gpu {

// Skips, saying why, when no CUDA device answers.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;

  cuda::CudaDevice& device() { return *device_; }
  testing::Random& random() { return *random_; }  // seeded from WINNOW_GPU_SEED

 private:
  cuda::CudaDevice* device_ = nullptr;
  std::unique_ptr<testing::Random> random_;
};

// Launches captured into a CUDA graph over a block of device memory.
class GraphReplay {
 public:
  // Captures what `launch(stream, base, workspace)` enqueues, `base` being the device address of
  // `image_bytes` bytes. Fails when the launch does anything that a capture forbids: a
  // synchronisation, an allocation, a copy from memory that is not pinned.
  static absl::StatusOr<std::unique_ptr<GraphReplay>> Capture(
      cuda::CudaDevice& device, int64_t image_bytes, int64_t workspace_bytes,
      absl::FunctionRef<absl::Status(Stream&, std::byte*, absl::Span<std::byte>)> launch);
  ~GraphReplay();

  // Copies the image up, replays, copies it back.
  absl::Status Replay(contract::MemoryImage& image);

 private:
  explicit GraphReplay(cuda::CudaDevice& device) : device_(device) {}

  cuda::CudaDevice& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<DeviceMemory> workspace_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace winnow::gpu

#endif  // WINNOW_TESTS_GPU_GPU_TEST_H_
