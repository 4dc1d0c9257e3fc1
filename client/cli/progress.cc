#include "client/cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include <utility>

#include "absl/time/clock.h"
#include "client/cli/number_text.h"

namespace winnow::cli {
namespace {

constexpr absl::Duration kPatience = absl::Milliseconds(500);

}  // namespace

Progress::Progress(std::string noun)
    : noun_(std::move(noun)), terminal_(isatty(STDERR_FILENO) == 1), start_(absl::Now()) {}

Progress::~Progress() {
  if (shown_) fputs("\r\033[K", stderr);
}

void Progress::Show(int64_t done, int64_t total) {
  if (!terminal_ || absl::Now() - start_ < kPatience) return;
  fprintf(stderr, "\r\033[K%s of %s", Grouped(done).c_str(), Counted(total, noun_).c_str());
  fflush(stderr);
  shown_ = true;
}

}  // namespace winnow::cli
