#include "client/cli/option_checks.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "winnow/kernels/plain_number.h"

namespace winnow::cli {
namespace {

std::string Refusal(const std::string& text, absl::string_view accepted) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 60)), "' is not ", accepted);
}

CLI::Validator Named(const std::string& name, std::function<std::string(std::string&)> check) {
  CLI::Validator validator(name);
  validator.operation(std::move(check));
  return validator;
}

}  // namespace

CLI::Validator WholeNumber(int64_t low, int64_t high) {
  return Named("", [low, high](std::string& text) -> std::string {
    int64_t number = 0;
    if (ParsePlainNumber(text, number) && number >= low && number <= high) {
      text = absl::StrCat(number);  // the parser would take 010 for 8
      return "";
    }
    return Refusal(text, absl::StrCat("a whole number from ", low, " to ", high));
  });
}

CLI::Validator PowerOfTwo(int64_t low, int64_t high) {
  return Named("", [low, high](std::string& text) -> std::string {
    int64_t number = 0;
    if (ParsePlainNumber(text, number) && number >= low && number <= high &&
        (number & (number - 1)) == 0) {
      text = absl::StrCat(number);
      return "";
    }
    return Refusal(text, absl::StrCat("a power of two from ", low, " to ", high));
  });
}

CLI::Validator Number(double low, double high) {
  return Named("", [low, high](std::string& text) -> std::string {
    double number = 0;
    if (ParsePlainDecimal(text, number) && number >= low && number <= high) return "";
    return Refusal(text, absl::StrCat("a number from ", low, " to ", high));
  });
}

CLI::Validator Seconds() {
  constexpr double kDay = 86400;
  return Named("", [](std::string& text) -> std::string {
    double seconds = 0;
    if (ParsePlainDecimal(text, seconds) && seconds > 0 && seconds <= kDay) return "";
    return Refusal(text, "a number of seconds, more than 0 and at most 86400");
  });
}

CLI::Validator NotEmpty() {
  return Named("", [](std::string& text) -> std::string {
    return text.empty() ? "'' is no path; name a file or leave the option out" : "";
  });
}

CLI::Validator OneOf(std::vector<std::string> words, Synonyms synonyms) {
  return Named(
      "",
      [words = std::move(words), synonyms = std::move(synonyms)](std::string& text) -> std::string {
        for (const auto& [synonym, word] : synonyms) {
          if (text == synonym) text = word;
        }
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        return Refusal(text, absl::StrCat("one of ", absl::StrJoin(words, ", ")));
      });
}

}  // namespace winnow::cli
