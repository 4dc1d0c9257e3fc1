// Numbers of things in messages. Thread safety: safe to call from several threads.

#ifndef WINNOW_KERNELS_COUNT_TEXT_H_
#define WINNOW_KERNELS_COUNT_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace winnow {

// "1 column", "0 columns", "131072 columns": `noun` is one whose plural ends in s.
std::string CountText(int64_t count, absl::string_view noun);

// "column", "columns": what stands after a count that is written otherwise.
std::string NounText(int64_t count, absl::string_view noun);

}  // namespace winnow

#endif  // WINNOW_KERNELS_COUNT_TEXT_H_
