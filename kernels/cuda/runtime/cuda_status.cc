#include "kernels/cuda/runtime/cuda_status.h"

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"

namespace winnow::cuda {
namespace {

bool IsDeviceUnavailable(cudaError_t error) {
  switch (error) {
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceNotLicensed:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorStubLibrary:
      return true;
    default:
      return false;
  }
}

absl::Status LostError(cudaError_t error, int32_t ordinal) {
  return MakeError(absl::StatusCode::kUnavailable,
                   absl::StrCat("cuda device ", ordinal, " is lost after ", cudaGetErrorName(error),
                                "; its work and memory are gone, restart the process"),
                   {.reason = ErrorReason::kDeviceLost, .value = cudaGetErrorName(error)});
}

}  // namespace

bool IsContextLost(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorCudartUnloading:
      return true;
    default:
      return false;
  }
}

absl::Status StatusFromCuda(cudaError_t error, absl::string_view doing, int32_t ordinal) {
  if (error == cudaSuccess) return absl::OkStatus();
  if (IsContextLost(error)) return LostError(error, ordinal);
  absl::StatusCode code = absl::StatusCode::kInternal;
  ErrorReason reason = ErrorReason::kInternal;
  if (error == cudaErrorMemoryAllocation) {
    code = absl::StatusCode::kResourceExhausted;
    reason = ErrorReason::kMemoryExhausted;
  } else if (IsDeviceUnavailable(error)) {
    code = absl::StatusCode::kUnavailable;
    reason = ErrorReason::kDeviceUnavailable;
  }
  return MakeError(code,
                   absl::StrCat(doing, " failed on cuda device ", ordinal, ": ",
                                cudaGetErrorName(error), " (", cudaGetErrorString(error), ")"),
                   {.reason = reason, .value = cudaGetErrorName(error)});
}

absl::Status DeviceHealth::Check(cudaError_t error, absl::string_view doing) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  if (IsContextLost(error)) {
    cudaError_t none = cudaSuccess;
    lost_.compare_exchange_strong(none, error);
  }
  if (absl::Status lost = LostStatus(); !lost.ok()) return lost;
  return StatusFromCuda(error, doing, ordinal_);
}

absl::Status DeviceHealth::LostStatus() const {
  const cudaError_t lost = lost_.load();
  return lost == cudaSuccess ? absl::OkStatus() : LostError(lost, ordinal_);
}

}  // namespace winnow::cuda
