#include "winnow/kernels/count_text.h"

#include "absl/strings/str_cat.h"

namespace winnow {

std::string CountText(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", NounText(count, noun));
}

std::string NounText(int64_t count, absl::string_view noun) {
  return absl::StrCat(noun, count == 1 ? "" : "s");
}

}  // namespace winnow
