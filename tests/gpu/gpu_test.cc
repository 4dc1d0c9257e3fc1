#include "tests/gpu/gpu_test.h"

#include <utility>

#include "kernels/cuda/runtime/cuda_status.h"
#include "tests/testing/required_device.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::gpu {

void GpuTest::SetUp() {
  // Opened once and kept until the program ends.
  static auto* const opened =
      new absl::StatusOr<std::unique_ptr<cuda::CudaDevice>>(cuda::CudaDevice::Open(0));
  if (!opened->ok() && !testing::DeviceIsRequired()) {
    GTEST_SKIP() << "no device: " << opened->status();
  }
  ASSERT_OK(*opened);
  device_ = opened->value().get();
  random_ = std::make_unique<testing::Random>(testing::SeedFromEnvironment("WINNOW_GPU_SEED"));
}

absl::StatusOr<std::unique_ptr<GraphReplay>> GraphReplay::Capture(
    cuda::CudaDevice& device, int64_t image_bytes, int64_t workspace_bytes,
    absl::FunctionRef<absl::Status(Stream&, std::byte*, absl::Span<std::byte>)> launch) {
  std::unique_ptr<GraphReplay> replay(new GraphReplay(device));
  WINNOW_ASSIGN_OR_RETURN(replay->stream_, device.CreateStream(StreamPriority::kNormal));
  WINNOW_ASSIGN_OR_RETURN(replay->memory_, device.Allocate(MemoryKind::kDevice, image_bytes));
  WINNOW_ASSIGN_OR_RETURN(replay->workspace_,
                          device.Allocate(MemoryKind::kDevice, workspace_bytes + 256));
  const cudaStream_t stream = static_cast<cuda::CudaStream&>(*replay->stream_).get();
  WINNOW_RETURN_IF_ERROR(cuda::StatusFromCuda(
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "starting a capture", 0));
  const absl::Status launched = launch(*replay->stream_, replay->memory_->data(),
                                       absl::MakeSpan(replay->workspace_->data(), workspace_bytes));
  const cudaError_t ended = cudaStreamEndCapture(stream, &replay->graph_);
  WINNOW_RETURN_IF_ERROR(launched);
  WINNOW_RETURN_IF_ERROR(cuda::StatusFromCuda(ended, "ending a capture", 0));
  WINNOW_RETURN_IF_ERROR(cuda::StatusFromCuda(
      cudaGraphInstantiate(&replay->executable_, replay->graph_, 0), "instantiating a graph", 0));
  return replay;
}

GraphReplay::~GraphReplay() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  if (graph_ != nullptr) cudaGraphDestroy(graph_);
}

absl::Status GraphReplay::Replay(contract::MemoryImage& image) {
  if (image.size() > memory_->size_bytes()) return absl::InternalError("the image has grown");
  WINNOW_RETURN_IF_ERROR(device_.Copy(*stream_, memory_->data(), image.data(), image.size()));
  // Whatever the last replay left in the workspace must not matter.
  WINNOW_RETURN_IF_ERROR(
      device_.Fill(*stream_, workspace_->data(), 0xa5, workspace_->size_bytes()));
  WINNOW_RETURN_IF_ERROR(cuda::StatusFromCuda(
      cudaGraphLaunch(executable_, static_cast<cuda::CudaStream&>(*stream_).get()),
      "launching a graph", 0));
  WINNOW_RETURN_IF_ERROR(device_.Copy(*stream_, image.data(), memory_->data(), image.size()));
  return stream_->Synchronize();
}

}  // namespace winnow::gpu
