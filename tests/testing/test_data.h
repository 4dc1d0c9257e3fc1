// The score rows of tests/data, found through WINNOW_TEST_DATA or where the tests were built.

#ifndef WINNOW_TESTS_TESTING_TEST_DATA_H_
#define WINNOW_TESTS_TESTING_TEST_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::testing {

struct RealRows {
  std::vector<std::vector<float>> float32;   // rows of 1 to 131,072 scores
  std::vector<std::vector<float>> bfloat16;  // rows of 1 to 16,384; each value is exact in bfloat16
};

// NotFound names the file that is missing.
absl::StatusOr<RealRows> LoadRealRows();

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_TEST_DATA_H_
