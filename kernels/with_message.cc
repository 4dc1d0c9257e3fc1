#include "winnow/kernels/with_message.h"

#include <optional>

#include "winnow/kernels/error.h"

namespace winnow {

absl::Status WithMessage(const absl::Status& status, absl::string_view message) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() ? MakeError(status.code(), message, *info)
                          : absl::Status(status.code(), message);
}

}  // namespace winnow
