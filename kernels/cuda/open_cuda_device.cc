// Finding and opening a GPU: what it is, what fits on it, and what is said about it.

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/launch/occupancy_probe.h"
#include "kernels/cuda/launch/publish_select_launch.h"
#include "kernels/cuda/launch/topk_launch.h"
#include "kernels/cuda/runtime/device_scope.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow {
namespace cuda {
namespace {

// Whatever keeps a device from being opened makes it unavailable, memory for its context included.
absl::Status AsUnavailable(const absl::Status& status) {
  if (status.ok() || absl::IsUnavailable(status)) return status;
  return MakeError(absl::StatusCode::kUnavailable, status.message(),
                   {.reason = ErrorReason::kDeviceUnavailable});
}

absl::Status Unavailable(absl::string_view message) {
  return MakeError(absl::StatusCode::kUnavailable, message,
                   {.reason = ErrorReason::kDeviceUnavailable});
}

absl::StatusOr<DeviceTraits> ReadTraits(DeviceHealth& health, const cudaDeviceProp& properties) {
  DeviceTraits traits;
  traits.ordinal = health.ordinal();
  const cudaError_t error = ReadDeviceTraits(traits);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    (void)health.Check(error, "looking for code");
    return Unavailable(absl::StrCat("cuda device ", traits.ordinal, " (", properties.name,
                                    ") has capability ", properties.major, ".", properties.minor,
                                    " but this build has code for ", WINNOW_CUDA_ARCHITECTURES,
                                    " only; build with -DWINNOW_CUDA_ARCHITECTURES"));
  }
  WINNOW_RETURN_IF_ERROR(health.Check(error, "reading the device's limits"));
  // Clusters that hold no block of the kernels that use them are of no use here.
  if (!ClusterKernelsFit(traits)) {
    traits.clusters_of_8 = traits.clusters_of_8_shared = 0;
    traits.clusters_of_16 = traits.clusters_of_16_shared = 0;
  }
  return traits;
}

// Says how rows are shared and what the driver answered about clusters.
std::string PoolNote(const DeviceTraits& traits) {
  const std::string shared = absl::StrCat("long rows are shared by up to ", traits.multiprocessors,
                                          " independent blocks, one a multiprocessor; ");
  if (traits.max_cluster_size == 0) {
    return absl::StrCat(shared, "capability ", traits.capability / 10, ".", traits.capability % 10,
                        " has no clusters");
  }
  return absl::StrCat(shared, "clusters of 8 that fit: ", traits.clusters_of_8,
                      " at one block a multiprocessor, ", traits.clusters_of_8_shared,
                      " at two; of 16: ", traits.clusters_of_16, " and ",
                      traits.clusters_of_16_shared);
}

DeviceInfo MakeInfo(const DeviceTraits& traits, const cudaDeviceProp& properties) {
  DeviceInfo info;
  info.kind = "cuda";
  info.name = properties.name;
  info.ordinal = traits.ordinal;
  info.multiprocessors = traits.multiprocessors;
  info.capability_major = properties.major;
  info.capability_minor = properties.minor;
  info.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  info.l2_bytes = traits.l2_bytes;
  info.max_cluster_size = traits.max_cluster_size;
  // Split rows need no cluster, so that the pool exists on every device; plans say the same.
  info.pool_width = traits.multiprocessors;
  info.pool_note = PoolNote(traits);
  int mps = 0;
  // Drivers from before the attribute do not know it: then nothing is claimed.
  if (cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, traits.ordinal) != cudaSuccess) {
    cudaGetLastError();
  }
  info.multi_process_service = mps == 1;
  return info;
}

// Why the driver's library is of no use. It may be there and need a library that is not, as in an
// image with too little of the C library.
std::string WhyNoDriver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    const char* const why = dlerror();
    return why == nullptr ? "libcuda.so.1 cannot be loaded" : why;
  }
  dlclose(driver);
  return "libcuda.so.1 is there and does not answer";
}

// CUDA has one error for a driver that is missing and one that is too old.
absl::Status NoDriver(int32_t ordinal) {
  cudaGetLastError();
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);  // 0: none is installed
  cudaRuntimeGetVersion(&runtime);
  const auto name = [](int version) {
    return absl::StrCat(version / 1000, ".", version % 1000 / 10);
  };
  if (driver == 0) {
    return Unavailable(
        absl::StrCat("no NVIDIA driver found for cuda device ", ordinal, " (", WhyNoDriver(),
                     "); install the driver, and start a container with access to the GPU"));
  }
  return Unavailable(absl::StrCat("the NVIDIA driver is for CUDA ", name(driver),
                                  ", this build for ", name(runtime), "; update the driver"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(int32_t ordinal) {
  auto health = std::make_shared<DeviceHealth>(ordinal);
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaErrorInsufficientDriver) return NoDriver(ordinal);
  if (found == cudaErrorNoDevice) {
    cudaGetLastError();
    return Unavailable(
        "the NVIDIA driver shows no GPU to this process; look at nvidia-smi and "
        "CUDA_VISIBLE_DEVICES, and start a container with access to the GPU");
  }
  WINNOW_RETURN_IF_ERROR(AsUnavailable(health->Check(found, "looking for devices")));
  if (ordinal < 0 || ordinal >= count) {
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("cuda device ", ordinal, " does not exist; ",
                                  CountText(count, "device"), count == 1 ? " answers" : " answer"),
                     {.reason = ErrorReason::kDeviceUnavailable,
                      .field = "ordinal",
                      .value = absl::StrCat(ordinal),
                      .limit = absl::StrCat("0 to ", count - 1)});
  }
  const DeviceScope scope(ordinal);
  WINNOW_RETURN_IF_ERROR(AsUnavailable(health->Check(scope.error(), "making the device current")));
  cudaDeviceProp properties = {};
  WINNOW_RETURN_IF_ERROR(AsUnavailable(health->Check(cudaGetDeviceProperties(&properties, ordinal),
                                                     "reading the device's properties")));
  auto traits = ReadTraits(*health, properties);
  WINNOW_RETURN_IF_ERROR(AsUnavailable(traits.status()));
  WINNOW_RETURN_IF_ERROR(AsUnavailable(health->Check(PrepareTopK(*traits), "preparing top-k")));
  const bool publish_select_fits = PublishSelectFits(*traits);
  if (publish_select_fits) {
    WINNOW_RETURN_IF_ERROR(AsUnavailable(
        health->Check(PreparePublishSelect(), "preparing the selections of a publish")));
  }
  auto probe_stream = CudaStream::Create(health, StreamPriority::kNormal);
  WINNOW_RETURN_IF_ERROR(AsUnavailable(probe_stream.status()));
  DeviceInfo info = MakeInfo(*traits, properties);
  return std::unique_ptr<CudaDevice>(new CudaDevice(std::move(health), *traits, std::move(info),
                                                    publish_select_fits, *std::move(probe_stream)));
}

}  // namespace cuda

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(const CudaDeviceOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, cuda::CudaDevice::Open(options.ordinal));
  return device;
}

int32_t CudaDeviceCount() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // no driver or no device: an answer, not an error to keep
  return 0;
}

}  // namespace winnow
