#include "client/cli/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/file_writer.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

absl::Status Bad(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(ShowPath(path), ": ", what));
}

absl::Status CheckKind(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return absl::OkStatus();
  if (S_ISDIR(mode)) return Bad(path, "a directory; name an .npy file");
  if (S_ISFIFO(mode) || S_ISSOCK(mode)) return Bad(path, "a pipe; save it to a file first");
  return Bad(path, "a device; name an .npy file");
}

// Up to `count` bytes from `offset`; fewer at the end of the file.
absl::StatusOr<int64_t> ReadAt(int descriptor, const std::string& path, int64_t offset,
                               int64_t count, char* destination) {
  int64_t done = 0;
  while (done < count) {
    const ssize_t got = pread(descriptor, destination + done, static_cast<size_t>(count - done),
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Bad(path, absl::StrCat("cannot be read: ", strerror(errno)));
    if (got == 0) break;
    done += got;
  }
  return done;
}

absl::StatusOr<NpyHeader> ReadHeader(int descriptor, const std::string& path) {
  std::string bytes(12, '\0');
  WINNOW_ASSIGN_OR_RETURN(const int64_t prefix_bytes,
                          ReadAt(descriptor, path, 0, 12, bytes.data()));
  bytes.resize(static_cast<size_t>(prefix_bytes));
  absl::StatusOr<int64_t> offset = NpyDataOffset(bytes);
  if (!offset.ok()) return Bad(path, offset.status().message());
  bytes.resize(static_cast<size_t>(*offset));
  WINNOW_ASSIGN_OR_RETURN(const int64_t header_bytes,
                          ReadAt(descriptor, path, 0, *offset, bytes.data()));
  bytes.resize(static_cast<size_t>(header_bytes));
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(bytes);
  if (!header.ok()) return Bad(path, header.status().message());
  return header;
}

absl::Status CheckSize(const std::string& path, const NpyHeader& header, int64_t file_bytes) {
  const int64_t held = file_bytes - header.data_offset;
  if (held < header.data_bytes) {
    return Bad(path, absl::StrCat("holds ", held, " of the ", CountText(header.data_bytes, "byte"),
                                  " that its header declares; it is cut short, copy or save "
                                  "it again"));
  }
  if (held > header.data_bytes) {
    return Bad(path, absl::StrCat(CountText(held - header.data_bytes, "byte"),
                                  " after the array; save one array alone with np.save"));
  }
  return absl::OkStatus();
}

}  // namespace

NpyFile::NpyFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

NpyFile::NpyFile(NpyFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      header_(std::move(other.header_)) {}

NpyFile& NpyFile::operator=(NpyFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(header_, other.header_);
  return *this;
}

NpyFile::~NpyFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<NpyFile> NpyFile::Open(const std::string& path) {
  // A path with a NUL would name another file than the one shown.
  if (path.find('\0') != std::string::npos) return Bad(path, "no such file; check the path");
  struct stat state;
  // Looked at before it is opened, because opening some devices does something.
  if (stat(path.c_str(), &state) == 0) WINNOW_RETURN_IF_ERROR(CheckKind(path, state.st_mode));
  // O_NONBLOCK: should a pipe have taken its place, opening it would wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    if (errno == ENOENT) return Bad(path, "no such file; check the path");
    if (errno == EACCES) return Bad(path, "this user may not read it; change its owner or mode");
    return Bad(path, absl::StrCat("cannot be opened: ", strerror(errno), "; check the path"));
  }
  NpyFile file(path, descriptor);
  if (fstat(descriptor, &state) != 0) {
    return Bad(path, absl::StrCat("cannot be read: ", strerror(errno)));
  }
  WINNOW_RETURN_IF_ERROR(CheckKind(path, state.st_mode));
  WINNOW_ASSIGN_OR_RETURN(file.header_, ReadHeader(descriptor, path));
  WINNOW_RETURN_IF_ERROR(CheckSize(path, file.header_, state.st_size));
  return file;
}

int64_t NpyFile::element_count() const { return header_.data_bytes / ItemSize(header_.type); }

absl::Status NpyFile::Read(int64_t first, int64_t count, std::byte* destination) const {
  const int64_t item = ItemSize(header_.type);
  WINNOW_ASSIGN_OR_RETURN(const int64_t got,
                          ReadAt(descriptor_, path_, header_.data_offset + first * item,
                                 count * item, reinterpret_cast<char*>(destination)));
  if (got == count * item) return absl::OkStatus();
  return Bad(path_, "became shorter while it was read; save it again");
}

absl::Status WriteNpy(const std::string& path, NpyType type, const std::vector<int64_t>& shape,
                      absl::Span<const std::byte> data) {
  WINNOW_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  WINNOW_RETURN_IF_ERROR(writer.Append(MakeNpyHeader(type, shape)));
  WINNOW_RETURN_IF_ERROR(
      writer.Append(absl::string_view(reinterpret_cast<const char*>(data.data()), data.size())));
  return writer.Commit();
}

}  // namespace winnow::cli
