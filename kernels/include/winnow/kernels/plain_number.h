// Whole numbers as flags take them. Thread safety: safe to call from several threads.

#ifndef WINNOW_KERNELS_PLAIN_NUMBER_H_
#define WINNOW_KERNELS_PLAIN_NUMBER_H_

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace winnow {

// Sets `number` when `text` is decimal digits, perhaps after one minus, and fits. absl::SimpleAtoi
// takes a plus and blanks too, so that what a flag shows would not be what was typed.
template <typename Integer>
bool ParsePlainNumber(absl::string_view text, Integer& number) {
  absl::string_view digits = text;
  absl::ConsumePrefix(&digits, "-");
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  return std::all_of(digits.begin(), digits.end(), is_digit) && absl::SimpleAtoi(text, &number);
}

}  // namespace winnow

#endif  // WINNOW_KERNELS_PLAIN_NUMBER_H_
