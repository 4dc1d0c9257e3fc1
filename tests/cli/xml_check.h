// Whether text is well-formed XML, as far as the product writes it: elements, attributes in double
// quotes, text, entities.

#ifndef WINNOW_TESTS_CLI_XML_CHECK_H_
#define WINNOW_TESTS_CLI_XML_CHECK_H_

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace winnow::cli {

inline bool OnlyKnownEntities(absl::string_view text) {
  for (size_t at = text.find('&'); at != text.npos; at = text.find('&', at + 1)) {
    bool known = false;
    for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;"}) {
      known = known || absl::StartsWith(text.substr(at), entity);
    }
    if (!known) return false;
  }
  return true;
}

// Empty if well-formed, else what is wrong.
inline std::string XmlProblem(absl::string_view xml) {
  std::vector<std::string> open;
  bool root_closed = false;
  while (!xml.empty()) {
    const size_t begin = xml.find('<');
    if (!OnlyKnownEntities(xml.substr(0, begin))) return "an unknown entity";
    if (begin == xml.npos) break;
    const size_t end = xml.find('>', begin);
    if (end == xml.npos) return "a tag does not end";
    const absl::string_view tag = xml.substr(begin + 1, end - begin - 1);
    xml.remove_prefix(end + 1);
    if (absl::StrContains(tag, "<")) return absl::StrCat("a tag in a tag: ", tag);
    const std::string name(tag.substr(0, tag.find_first_of(" /", 1)));
    if (absl::StartsWith(tag, "/")) {
      if (open.empty() || open.back() != tag.substr(1)) return absl::StrCat("stray ", tag);
      open.pop_back();
      root_closed = open.empty();
      continue;
    }
    if (root_closed) return "more than one root";
    size_t quotes = 0;
    for (char letter : tag) quotes += letter == '"';
    if (quotes % 2 != 0) return absl::StrCat("a quote is open in ", tag);
    if (!absl::EndsWith(tag, "/")) open.push_back(name);
  }
  if (!open.empty()) return absl::StrCat(open.back(), " is not closed");
  return root_closed ? "" : "no root";
}

}  // namespace winnow::cli

#endif  // WINNOW_TESTS_CLI_XML_CHECK_H_
