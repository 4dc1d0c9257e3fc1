#include "winnow/client/default_target.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace winnow::client {
namespace {

absl::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? absl::string_view() : absl::string_view(value);
}

}  // namespace

std::string DefaultTarget() {
  const absl::string_view target = Environment("WINNOW_TARGET");
  return target.empty() ? DefaultSocketTarget() : std::string(target);
}

std::string DefaultSocketTarget() {
  const absl::string_view runtime = Environment("XDG_RUNTIME_DIR");
  // The XDG specification says that a path which is not absolute is invalid and to be ignored.
  if (!runtime.empty() && runtime.front() == '/') {
    return absl::StrCat("unix:", runtime, "/winnow.sock");
  }
  return absl::StrCat("unix:/tmp/winnow-", getuid(), "/winnow.sock");
}

}  // namespace winnow::client
