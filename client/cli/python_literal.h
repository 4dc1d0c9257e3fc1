// The one Python literal that stands in an .npy header: a dict of descr, fortran_order and shape.
// Not an evaluator: anything else is refused. Next: npy_header.cc, which uses it.

#ifndef WINNOW_CLIENT_CLI_PYTHON_LITERAL_H_
#define WINNOW_CLIENT_CLI_PYTHON_LITERAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace winnow::cli {

struct PythonDict {
  bool has_descr = false;
  bool has_fortran_order = false;
  bool has_shape = false;
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// InvalidArgument: not such a dict, an unknown or repeated key, a structured type, a number that
// does not fit 63 bits, more than 32 dimensions.
absl::StatusOr<PythonDict> ParsePythonDict(absl::string_view text);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_PYTHON_LITERAL_H_
