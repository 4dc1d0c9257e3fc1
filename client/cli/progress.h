// A line that says how far long work is, for a person who watches.

#ifndef WINNOW_CLIENT_CLI_PROGRESS_H_
#define WINNOW_CLIENT_CLI_PROGRESS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace winnow::cli {

// Writes to stderr, over the same line, and only if that is a terminal and the work has taken half
// a second. The line goes when the object does.
class Progress {
 public:
  explicit Progress(std::string noun);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void Show(int64_t done, int64_t total);

 private:
  std::string noun_;
  bool terminal_;
  absl::Time start_;
  bool shown_ = false;
};

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_PROGRESS_H_
