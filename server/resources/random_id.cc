#include "server/resources/random_id.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace winnow::server {
namespace {

// A lease id that could be guessed would hand a client's memory to another; without random bytes
// there is no way on.
void FillRandom(char* bytes, size_t size) {
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got = getrandom(bytes + filled, size - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) std::abort();
    filled += static_cast<size_t>(got);
  }
}

}  // namespace

std::string RandomHexId() {
  std::array<char, 16> bytes;
  FillRandom(bytes.data(), bytes.size());
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

int64_t RandomGeneration() {
  uint64_t bits = 0;
  FillRandom(reinterpret_cast<char*>(&bits), sizeof(bits));
  return static_cast<int64_t>(bits >> 24) | 1;
}

}  // namespace winnow::server
