// Errors in other words. Thread safety: safe to call from several threads.

#ifndef WINNOW_KERNELS_WITH_MESSAGE_H_
#define WINNOW_KERNELS_WITH_MESSAGE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace winnow {

// The error of `status`, its code and its ErrorInfo if it has one, with `message` alone as its
// text.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

}  // namespace winnow

#endif  // WINNOW_KERNELS_WITH_MESSAGE_H_
