#include "client/cli/suggest.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"

namespace winnow::cli {
namespace {

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_previous(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  std::vector<size_t> current(b.size() + 1);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_previous[j - 2] + 1);
      }
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string Nearest(absl::string_view typed, const std::vector<std::string>& known) {
  constexpr size_t kLongestWord = 64;  // nothing longer is a slip of the finger
  if (typed.size() < 2 || typed.size() > kLongestWord) return "";
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& word : known) {
    const size_t distance = EditDistance(typed, word);
    const bool near = distance * 3 <= word.size() || absl::StartsWith(word, typed);
    if (near && (best == nullptr || distance < best_distance)) {
      best = &word;
      best_distance = distance;
    }
  }
  return best == nullptr ? "" : *best;
}

}  // namespace winnow::cli
