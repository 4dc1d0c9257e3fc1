// Arrays in files, in numpy's .npy format. Next: npy_header.h for what is accepted,
// file_writer.h for how files are replaced.

#ifndef WINNOW_CLIENT_CLI_NPY_H_
#define WINNOW_CLIENT_CLI_NPY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/npy_header.h"

namespace winnow::cli {

// An open file whose header is known to be good and whose size is what the header says. Owns a file
// descriptor and no memory: elements are read in the ranges that the caller asks for, so a file of
// any size costs only what is read of it. Not mapped, because a mapped file that another program
// cuts short ends the process with SIGBUS; a read reports it.
//
// Thread safety: const methods may be called from several threads.
class NpyFile {
 public:
  // InvalidArgument, "PATH: what is wrong; the way out": no regular file (a directory, a pipe and a
  // device are refused without waiting on them), unreadable, no acceptable header, a size other
  // than the header declares.
  static absl::StatusOr<NpyFile> Open(const std::string& path);

  NpyFile(NpyFile&& other) noexcept;
  NpyFile& operator=(NpyFile&& other) noexcept;
  ~NpyFile();

  const std::string& path() const { return path_; }
  const NpyHeader& header() const { return header_; }
  int64_t element_count() const;

  // Copies elements [first, first + count) to `destination`, of count * ItemSize bytes at least.
  // The range must lie in the array. InvalidArgument if the file has shrunk or cannot be read.
  absl::Status Read(int64_t first, int64_t count, std::byte* destination) const;

 private:
  NpyFile(std::string path, int descriptor);

  std::string path_;
  int descriptor_ = -1;
  NpyHeader header_;
};

// Writes an array, through FileWriter: a regular file is replaced whole or not at all.
// InvalidArgument if the file cannot be made; Internal if writing fails (disk full).
absl::Status WriteNpy(const std::string& path, NpyType type, const std::vector<int64_t>& shape,
                      absl::Span<const std::byte> data);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_NPY_H_
