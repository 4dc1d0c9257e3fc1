#include "client/cli/python_literal.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr size_t kMaxDimensions = 32;  // numpy's own limit

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("damaged header: ", what, "; save the array with np.save"));
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<PythonDict> Dict() {
    PythonDict dict;
    if (!Take('{')) return Damaged("no dictionary");
    while (!Take('}')) {
      WINNOW_RETURN_IF_ERROR(Entry(dict));
      if (Take(',')) continue;
      if (!Take('}')) return Damaged("the dictionary does not end");
      break;
    }
    SkipSpace();
    if (!rest_.empty()) return Damaged("text after the dictionary");
    return dict;
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && absl::ascii_isspace(static_cast<unsigned char>(rest_[0]))) {
      rest_.remove_prefix(1);
    }
  }

  bool Take(char wanted) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  absl::StatusOr<std::string> String() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return Damaged("no string");
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return Damaged("a string does not end");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  absl::string_view Word() {
    SkipSpace();
    size_t size = 0;
    while (size < rest_.size() && (absl::ascii_isalnum(static_cast<unsigned char>(rest_[size])) ||
                                   (size == 0 && rest_[size] == '-'))) {
      ++size;
    }
    const absl::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }

  absl::StatusOr<int64_t> Size() {
    absl::string_view word = Word();
    absl::ConsumeSuffix(&word, "L");  // as Python 2 wrote them
    int64_t size = 0;
    if (absl::SimpleAtoi(word, &size)) return size;
    absl::string_view digits = word;
    absl::ConsumePrefix(&digits, "-");
    if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos) {
      return Damaged("the shape is no tuple of numbers");
    }
    return absl::InvalidArgumentError(
        absl::StrCat("a size of ", word.substr(0, 40), " in the shape overflows 63 bits"));
  }

  absl::Status Shape(std::vector<int64_t>& shape) {
    if (!Take('(')) return Damaged("the shape is no tuple of numbers");
    while (!Take(')')) {
      WINNOW_ASSIGN_OR_RETURN(const int64_t size, Size());
      if (shape.size() == kMaxDimensions) return Damaged("more than 32 dimensions");
      shape.push_back(size);
      if (Take(',')) continue;
      if (!Take(')')) return Damaged("the shape is no tuple of numbers");
      break;
    }
    return absl::OkStatus();
  }

  absl::Status Descr(std::string& descr) {
    SkipSpace();
    if (!rest_.empty() && rest_[0] == '[') {
      return absl::InvalidArgumentError(
          "a structured array; save one of its fields, array['name']");
    }
    WINNOW_ASSIGN_OR_RETURN(descr, String());
    return absl::OkStatus();
  }

  absl::Status FortranOrder(bool& fortran_order) {
    const absl::string_view word = Word();
    if (word != "True" && word != "False") return Damaged("fortran_order is no truth value");
    fortran_order = word == "True";
    return absl::OkStatus();
  }

  absl::Status Claim(bool& seen, absl::string_view key) {
    if (seen) return Damaged(absl::StrCat("'", key, "' stands twice"));
    seen = true;
    return absl::OkStatus();
  }

  absl::Status Entry(PythonDict& dict) {
    WINNOW_ASSIGN_OR_RETURN(const std::string key, String());
    if (!Take(':')) return Damaged("a key without a value");
    if (key == "descr") {
      WINNOW_RETURN_IF_ERROR(Claim(dict.has_descr, key));
      return Descr(dict.descr);
    }
    if (key == "fortran_order") {
      WINNOW_RETURN_IF_ERROR(Claim(dict.has_fortran_order, key));
      return FortranOrder(dict.fortran_order);
    }
    if (key == "shape") {
      WINNOW_RETURN_IF_ERROR(Claim(dict.has_shape, key));
      return Shape(dict.shape);
    }
    return Damaged(absl::StrCat("unknown key '", absl::CEscape(key.substr(0, 40)), "'"));
  }

  absl::string_view rest_;
};

}  // namespace

absl::StatusOr<PythonDict> ParsePythonDict(absl::string_view text) { return Parser(text).Dict(); }

}  // namespace winnow::cli
