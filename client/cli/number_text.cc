#include "client/cli/number_text.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "winnow/kernels/count_text.h"

namespace winnow::cli {

std::string Grouped(int64_t number) {
  std::string digits = absl::StrCat(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string Counted(int64_t number, absl::string_view noun) {
  return absl::StrCat(Grouped(number), " ", NounText(number, noun));
}

std::string ShownAge(absl::Duration age) {
  const absl::Duration seconds = absl::Trunc(age, absl::Seconds(1));
  // Of zero it leaves out the unit.
  return seconds == absl::ZeroDuration() ? "0s" : absl::FormatDuration(seconds);
}

std::string Shown(absl::Duration duration) {
  const double micros = absl::ToDoubleMicroseconds(duration);
  if (micros < 1000) return absl::StrFormat("%.0f us", micros);
  if (micros < 1e6) return absl::StrFormat("%.2f ms", micros / 1e3);
  return absl::StrFormat("%.2f s", micros / 1e6);
}

std::string ShownBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return unit == 0 ? absl::StrCat(bytes, " B")
                   : absl::StrFormat("%.*f %s", amount < 10 ? 1 : 0, amount, kUnits[unit]);
}

}  // namespace winnow::cli
