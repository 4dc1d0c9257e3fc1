// Early return on errors; the installed abseil has no such macros.

#ifndef WINNOW_KERNELS_STATUS_MACROS_H_
#define WINNOW_KERNELS_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"

#define WINNOW_RETURN_IF_ERROR(expression)                                                    \
  do {                                                                                        \
    if (absl::Status winnow_status = (expression); !winnow_status.ok()) return winnow_status; \
  } while (false)

#define WINNOW_STATUS_CONCAT_INNER(a, b) a##b
#define WINNOW_STATUS_CONCAT(a, b) WINNOW_STATUS_CONCAT_INNER(a, b)

// Evaluates a StatusOr; returns its status, or moves its value into `target`, which may be a
// declaration.
#define WINNOW_ASSIGN_OR_RETURN(target, expression)                                       \
  WINNOW_ASSIGN_OR_RETURN_INNER(WINNOW_STATUS_CONCAT(winnow_statusor_, __LINE__), target, \
                                expression)

#define WINNOW_ASSIGN_OR_RETURN_INNER(statusor, target, expression) \
  auto statusor = (expression);                                     \
  if (!statusor.ok()) return std::move(statusor).status();          \
  target = *std::move(statusor)

#endif  // WINNOW_KERNELS_STATUS_MACROS_H_
