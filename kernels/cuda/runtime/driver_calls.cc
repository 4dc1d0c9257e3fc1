#include "kernels/cuda/runtime/driver_calls.h"

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cuda {
namespace {

// The interface of CUDA 12.0, which every driver that runs this build has.
constexpr unsigned int kInterfaceVersion = 12000;

template <typename Function>
absl::Status Find(const char* name, Function& function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &address, kInterfaceVersion,
                                                             cudaEnableLegacyStream, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess || address == nullptr) {
    cudaGetLastError();
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("the driver has no ", name, "; sharing memory needs a newer one"),
                     {.reason = ErrorReason::kDeviceUnavailable, .value = name});
  }
  function = reinterpret_cast<Function>(address);
  return absl::OkStatus();
}

absl::StatusOr<DriverCalls> FindAll() {
  DriverCalls calls;
  WINNOW_RETURN_IF_ERROR(Find("cuMemGetAddressRange", calls.get_address_range));
  WINNOW_RETURN_IF_ERROR(Find("cuMemAddressReserve", calls.reserve));
  WINNOW_RETURN_IF_ERROR(Find("cuMemAddressFree", calls.free_reserved));
  WINNOW_RETURN_IF_ERROR(Find("cuMemCreate", calls.create));
  WINNOW_RETURN_IF_ERROR(Find("cuMemRelease", calls.release));
  WINNOW_RETURN_IF_ERROR(Find("cuMemMap", calls.map));
  WINNOW_RETURN_IF_ERROR(Find("cuMemUnmap", calls.unmap));
  WINNOW_RETURN_IF_ERROR(Find("cuMemSetAccess", calls.set_access));
  WINNOW_RETURN_IF_ERROR(Find("cuMemGetAllocationGranularity", calls.granularity));
  WINNOW_RETURN_IF_ERROR(Find("cuMemExportToShareableHandle", calls.export_handle));
  WINNOW_RETURN_IF_ERROR(Find("cuMemImportFromShareableHandle", calls.import_handle));
  WINNOW_RETURN_IF_ERROR(Find("cuStreamWaitValue32", calls.wait_value));
  WINNOW_RETURN_IF_ERROR(Find("cuStreamWriteValue32", calls.write_value));
  return calls;
}

}  // namespace

absl::StatusOr<const DriverCalls*> DriverCalls::Get() {
  static const auto* const calls = new absl::StatusOr<DriverCalls>(FindAll());
  WINNOW_RETURN_IF_ERROR(calls->status());
  return &calls->value();
}

}  // namespace winnow::cuda
