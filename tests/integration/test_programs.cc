#include "tests/integration/test_programs.h"

#include <cstdlib>
#include <filesystem>

namespace winnow::testing {

std::string ProgramPath(const std::string& built) {
  const std::filesystem::path name = std::filesystem::path(built).filename();
  if (const char* folder = std::getenv("WINNOW_TEST_PROGRAMS"); folder != nullptr) {
    return (folder / name).string();
  }
  std::error_code error;
  if (std::filesystem::exists(built, error)) return built;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

std::string TestBackend() {
  const char* backend = std::getenv("WINNOW_TEST_BACKEND");
  return backend == nullptr || *backend == '\0' ? "cpu" : backend;
}

}  // namespace winnow::testing
