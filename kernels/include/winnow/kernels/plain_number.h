// Numbers and times as flags take them. Thread safety: safe to call from several threads.

#ifndef WINNOW_KERNELS_PLAIN_NUMBER_H_
#define WINNOW_KERNELS_PLAIN_NUMBER_H_

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace winnow {

// Sets `number` when `text` is decimal digits, perhaps after one minus, and fits. absl::SimpleAtoi
// takes a plus and blanks too, so that what a flag shows would not be what was typed. Minus zero is
// no number: where only 0 and more are accepted, nothing with a sign is.
template <typename Integer>
bool ParsePlainNumber(absl::string_view text, Integer& number) {
  absl::string_view digits = text;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  return std::all_of(digits.begin(), digits.end(), is_digit) && absl::SimpleAtoi(text, &number) &&
         !(negative && number == 0);
}

// As ParsePlainNumber, with a point and an exponent where they are wanted: "0.5", "1e6". Words for
// infinity and for what is no number are none.
inline bool ParsePlainDecimal(absl::string_view text, double& number) {
  absl::string_view digits = text;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  const auto is_part = [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           absl::string_view(".eE+-").find(c) != absl::string_view::npos;
  };
  return !digits.empty() && digits.front() != '+' &&
         std::all_of(digits.begin(), digits.end(), is_part) && absl::SimpleAtod(text, &number) &&
         std::isfinite(number) && !(negative && number == 0);
}

// Sets `time` when `text` is one without a sign: "30s", "1m30s". absl::ParseDuration takes +1s and
// -0s too.
inline bool ParsePlainTime(absl::string_view text, absl::Duration& time) {
  const bool has_sign = absl::StartsWith(text, "+") || absl::StartsWith(text, "-");
  return !has_sign && absl::ParseDuration(text, &time);
}

}  // namespace winnow

#endif  // WINNOW_KERNELS_PLAIN_NUMBER_H_
