#include "client/cli/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace winnow::cli {
namespace {

absl::Status CannotMake(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(ShowPath(path), ": cannot be written: ", why));
}

// For `error` of making the file.
absl::Status CannotMake(const std::string& path, int error) {
  if (error == ENOENT) return CannotMake(path, "its folder does not exist");
  if (error == EACCES) return CannotMake(path, "this user may not write there");
  return CannotMake(path, strerror(error));
}

absl::Status CannotWrite(const std::string& path) {
  return absl::InternalError(absl::StrCat(ShowPath(path), ": writing failed: ", strerror(errno)));
}

// mkstemp gives files that only their owner reads; results get what any new file would.
void UseOrdinaryMode(int descriptor) {
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
}

}  // namespace

std::string ShowPath(absl::string_view path) {
  return path.empty() ? "''" : absl::Utf8SafeCEscape(path);
}

FileWriter::FileWriter(std::string path, std::string written_path, int descriptor)
    : path_(std::move(path)), written_path_(std::move(written_path)), descriptor_(descriptor) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      written_path_(std::move(other.written_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

FileWriter::~FileWriter() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (written_path_ != path_) unlink(written_path_.c_str());
}

absl::StatusOr<FileWriter> FileWriter::Create(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) return CannotMake(path, "not a path");
  struct stat state;
  if (stat(path.c_str(), &state) == 0 && !S_ISREG(state.st_mode)) {
    if (S_ISDIR(state.st_mode)) return CannotMake(path, "it is a directory; name a file in it");
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return CannotMake(path, errno);
    return FileWriter(path, path, descriptor);
  }
  std::string written_path = absl::StrCat(path, ".XXXXXX");
  const int descriptor = mkostemp(written_path.data(), O_CLOEXEC);
  if (descriptor < 0) return CannotMake(path, errno);
  UseOrdinaryMode(descriptor);
  return FileWriter(path, std::move(written_path), descriptor);
}

absl::Status FileWriter::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CannotWrite(path_);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Commit() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (close(descriptor) == 0 &&
      (written_path_ == path_ || rename(written_path_.c_str(), path_.c_str()) == 0)) {
    return absl::OkStatus();
  }
  const absl::Status status = CannotWrite(path_);
  if (written_path_ != path_) unlink(written_path_.c_str());
  return status;
}

absl::Status CheckWritable(const std::string& path) {
  struct stat state;
  // Opening a pipe would wait for its reader, and opening a device might do something.
  if (stat(path.c_str(), &state) == 0 && !S_ISREG(state.st_mode) && !S_ISDIR(state.st_mode)) {
    return absl::OkStatus();
  }
  return FileWriter::Create(path).status();
}

}  // namespace winnow::cli
