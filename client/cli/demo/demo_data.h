// The score rows, made from English text, that come with the product.

#ifndef WINNOW_CLIENT_CLI_DEMO_DEMO_DATA_H_
#define WINNOW_CLIENT_CLI_DEMO_DEMO_DATA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/kernels/dtype.h"

namespace winnow::cli {

float FloatOfBfloat16(uint16_t bits);

// One row of scores in its type.
struct DemoRow {
  DType dtype = DType::kFloat32;
  int32_t length = 0;
  std::vector<std::byte> bytes;  // length elements

  // A score as a float, 0 <= position < length.
  float Score(int64_t position) const;
  // How often the commonest score stands in the row.
  int64_t MostEqualScores() const;
};

struct DemoData {
  std::string directory;
  std::vector<DemoRow> float32_rows;
  std::vector<DemoRow> bfloat16_rows;
  std::vector<uint16_t> bfloat16_bits;  // of all rows, one after another
};

// `directory`: where the four .npy files are; empty: share/winnow/data of the installation, else
// tests/data of the source tree that holds the running program. InvalidArgument if they are not
// found or no good.
absl::StatusOr<DemoData> LoadDemoData(const std::string& directory);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_DEMO_DATA_H_
