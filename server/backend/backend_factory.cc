#include "server/backend/backend_factory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/backend/device_backend.h"
#include "winnow/kernels/device.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

struct Choice {
  std::unique_ptr<Device> device;
  std::string reason;
};

absl::StatusOr<Choice> OpenCpu(const BackendOptions& options, std::string reason) {
  WINNOW_ASSIGN_OR_RETURN(auto device, OpenCpuDevice({.threads = options.cpu_threads}));
  return Choice{std::move(device), std::move(reason)};
}

absl::StatusOr<Choice> Choose(const BackendOptions& options) {
  if (options.kind == "cpu") return OpenCpu(options, "cpu was asked for");
  if (options.kind != "cuda" && options.kind != "auto") {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        "--backend is not one of auto, cuda and cpu; choose one of them",
        {.reason = ErrorReason::kEnumUnknown, .field = "--backend", .limit = "auto, cuda or cpu"});
  }
  auto cuda = OpenCudaDevice({.ordinal = options.device_ordinal});
  if (cuda.ok()) {
    const std::string reason =
        options.kind == "cuda" ? "cuda was asked for"
                               : absl::StrCat("cuda device ", options.device_ordinal, " answers");
    return Choice{*std::move(cuda), reason};
  }
  if (options.kind == "cuda") return cuda.status();
  return OpenCpu(options, absl::StrCat("cpu, because ", cuda.status().message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const BackendOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(Choice choice, Choose(options));
  return DeviceBackend::Create(std::move(choice.device),
                               {.choice_reason = std::move(choice.reason),
                                .launch_slots = options.launch_slots,
                                .buffer_pool_bytes = options.buffer_pool_bytes,
                                .staging_pool_bytes = options.staging_pool_bytes});
}

}  // namespace winnow::server
