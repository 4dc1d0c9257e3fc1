#include "client/cli/demo/program_path.h"

#include <stdlib.h>
#include <unistd.h>

#include <system_error>
#include <vector>

#include "absl/strings/str_split.h"

namespace winnow::cli {
namespace {

constexpr char kServer[] = "winnow-server";

bool IsProgram(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::filesystem::path ProgramDirectory() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path();
}

absl::StatusOr<std::string> FindServerProgram() {
  const std::filesystem::path directory = ProgramDirectory();
  std::vector<std::filesystem::path> places = {
      directory, directory.parent_path().parent_path() / "server" / "app"};
  const char* path = getenv("PATH");
  for (absl::string_view place : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (!place.empty()) places.push_back(std::string(place));
  }
  for (const std::filesystem::path& place : places) {
    if (IsProgram(place / kServer)) return (place / kServer).string();
  }
  return absl::NotFoundError(
      "winnow-server is neither beside this program nor in $PATH; install it, name it with "
      "--server, or name a running server with --target");
}

}  // namespace winnow::cli
