// Numbers as people read them.

#ifndef WINNOW_CLIENT_CLI_NUMBER_TEXT_H_
#define WINNOW_CLIENT_CLI_NUMBER_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace winnow::cli {

// "131,072".
std::string Grouped(int64_t number);

// "1 row", "16 rows", "131,072 rows".
std::string Counted(int64_t number, absl::string_view noun);

// "512 B", "1.5 MiB", "16 GiB".
std::string ShownBytes(int64_t bytes);

// "0s", "1h2m3s": whole seconds.
std::string ShownAge(absl::Duration age);

// "812 us", "2.31 ms", "1.20 s".
std::string Shown(absl::Duration duration);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_NUMBER_TEXT_H_
