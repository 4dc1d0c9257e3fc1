// Output files that are there whole or not at all.

#ifndef WINNOW_CLIENT_CLI_FILE_WRITER_H_
#define WINNOW_CLIENT_CLI_FILE_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace winnow::cli {

// `path` fit to stand in a message of one line.
std::string ShowPath(absl::string_view path);

// Writes a file beside its final place and moves it there in Commit, so that readers see the old or
// the new one and a failure leaves the old. A path that is a device or a pipe is written to
// directly. Removes what it wrote if it is destroyed without Commit.
class FileWriter {
 public:
  // InvalidArgument, "PATH: why", if no file can be made there.
  static absl::StatusOr<FileWriter> Create(const std::string& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) = delete;
  ~FileWriter();

  // Internal if the bytes cannot be written (disk full).
  absl::Status Append(absl::string_view bytes);

  // Once, last.
  absl::Status Commit();

 private:
  FileWriter(std::string path, std::string written_path, int descriptor);

  std::string path_;
  std::string written_path_;  // equal to path_: written directly
  int descriptor_ = -1;
};

// InvalidArgument if no file could be made at `path`: found before the work rather than after it.
absl::Status CheckWritable(const std::string& path);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_FILE_WRITER_H_
