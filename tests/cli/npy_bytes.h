// Bytes of .npy files, well-formed or not, made without the writer under test.

#ifndef WINNOW_TESTS_CLI_NPY_BYTES_H_
#define WINNOW_TESTS_CLI_NPY_BYTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace winnow::cli {

// Magic, version, length and `text` as it stands.
inline std::string NpyHeaderBytes(absl::string_view text, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return bytes + std::string(text);
}

inline std::string NpyDict(absl::string_view descr, absl::string_view shape,
                           absl::string_view fortran_order = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran_order,
                      ", 'shape': ", shape, ", }");
}

// A file whose dict is padded as numpy pads it.
inline std::string NpyBytes(absl::string_view descr, absl::string_view shape,
                            absl::string_view data, absl::string_view fortran_order = "False") {
  std::string text = NpyDict(descr, shape, fortran_order);
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  return NpyHeaderBytes(text + "\n") + std::string(data);
}

template <typename T>
std::string NpyOf(absl::string_view descr, const std::vector<T>& values,
                  const std::vector<int64_t>& shape) {
  std::string shape_text = "(";
  for (int64_t size : shape) absl::StrAppend(&shape_text, size, ", ");
  return NpyBytes(
      descr, shape_text + ")",
      absl::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

inline std::string NpyFloats(const std::vector<float>& values, const std::vector<int64_t>& shape) {
  return NpyOf("<f4", values, shape);
}
inline std::string NpyInts(const std::vector<int32_t>& values, const std::vector<int64_t>& shape) {
  return NpyOf("<i4", values, shape);
}

}  // namespace winnow::cli

#endif  // WINNOW_TESTS_CLI_NPY_BYTES_H_
