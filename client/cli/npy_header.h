// The header of numpy's .npy format, versions 1, 2 and 3, for the element types that winnow uses.
// Pure: works on bytes, touches no file. Next: npy.h, which reads and writes files with it.

#ifndef WINNOW_CLIENT_CLI_NPY_HEADER_H_
#define WINNOW_CLIENT_CLI_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace winnow::cli {

enum class NpyType { kFloat32, kInt32, kUint16 };

// Bytes of one element.
int64_t ItemSize(NpyType type);

// "float32", "int32" or "uint16".
absl::string_view Name(NpyType type);

// A C-ordered, little-endian array of one or two dimensions.
struct NpyHeader {
  NpyType type = NpyType::kFloat32;
  std::vector<int64_t> shape;  // one or two sizes, each at least 0
  int64_t data_offset = 0;     // bytes from the start of the file to the first element
  int64_t data_bytes = 0;      // product of the shape and the element size; never overflows
};

inline constexpr int64_t kMaxNpyHeaderBytes = 65536;

// Bytes from the start of the file to the first element, as the first bytes of a file say.
// `prefix`: the first 12 bytes, or the whole file if it is shorter.
// InvalidArgument: no magic bytes, an unknown version, a header over kMaxNpyHeaderBytes, a prefix
// too short to tell.
absl::StatusOr<int64_t> NpyDataOffset(absl::string_view prefix);

// Parses a whole header. `bytes`: exactly the file up to the first element, see NpyDataOffset.
// InvalidArgument says what the array is and, where there is one, the numpy call that makes it
// acceptable; never mentions the file, which the caller knows.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes);

// A version 1 header, padded so that the data starts at a multiple of 64 bytes. `shape` has one or
// two sizes.
std::string MakeNpyHeader(NpyType type, const std::vector<int64_t>& shape);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_NPY_HEADER_H_
