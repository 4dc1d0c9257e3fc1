// The arrays that commands write: results arrive request by request and go to the file at once.

#ifndef WINNOW_CLIENT_CLI_OUTPUT_ARRAYS_H_
#define WINNOW_CLIENT_CLI_OUTPUT_ARRAYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/file_writer.h"
#include "client/cli/report.h"
#include "winnow/client/matrix.h"
#include "winnow/kernels/dtype.h"

namespace winnow::cli {

struct OutputSpec {
  std::string name;  // as in the results: "indices"
  std::string path;  // may be empty
  DType dtype = DType::kInt32;
  int64_t columns = 0;
};

// One output of a command. Without a path nothing is written, and the report shows its first
// values.
class OutputArray {
 public:
  explicit OutputArray(OutputSpec spec) : spec_(std::move(spec)) {}

  const std::string& name() const { return spec_.name; }
  const std::string& path() const { return spec_.path; }

  // Bytes of one row.
  int64_t row_bytes() const { return spec_.columns * SizeOf(spec_.dtype); }

  // Makes the file, for `rows` rows. InvalidArgument if that cannot be done.
  absl::Status Begin(int64_t rows);
  // The next rows. Internal if the matrix has another type or width (a broken server) or the file
  // cannot be written.
  absl::Status Append(const client::Matrix& matrix);
  // Puts the file in its place. After all rows; Internal if it were more or fewer than announced.
  absl::Status Commit();

  // "wrote I.npy: int32 (16, 512)" or the first values, in lines.
  std::string Text() const;
  // {"path", "dtype", "shape"} and, without a path, "head".
  Json ToJson() const;

 private:
  void KeepHead(const client::Matrix& matrix);
  std::string DTypeText() const;

  OutputSpec spec_;
  int64_t rows_ = 0;
  int64_t appended_rows_ = 0;
  std::optional<FileWriter> writer_;
  std::vector<std::vector<Json>> head_;  // first values of the first rows
};

// Those with a path; if none has one, those named in `shown`.
std::vector<OutputArray> WantedOutputs(const std::vector<OutputSpec>& possible,
                                       const std::vector<std::string>& shown);

// InvalidArgument if two outputs have the same path.
absl::Status CheckDistinctPaths(const std::vector<OutputArray>& outputs);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_OUTPUT_ARRAYS_H_
