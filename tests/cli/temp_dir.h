// A fresh directory that goes with its object.

#ifndef WINNOW_TESTS_CLI_TEMP_DIR_H_
#define WINNOW_TESTS_CLI_TEMP_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/string_view.h"

namespace winnow::cli {

class TempDir {
 public:
  // Short on purpose: a Unix socket's path may have 107 characters.
  TempDir() {
    char name[] = "/tmp/winnow-cli-XXXXXX";
    if (mkdtemp(name) == nullptr) abort();
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  // Writes a file and returns its path.
  std::string Write(const std::string& name, absl::string_view bytes) const {
    std::ofstream(File(name), std::ios::binary).write(bytes.data(), bytes.size());
    return File(name);
  }

 private:
  std::string path_;
};

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace winnow::cli

#endif  // WINNOW_TESTS_CLI_TEMP_DIR_H_
