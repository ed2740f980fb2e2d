#include "common/text/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace weir {
namespace {

bool IsSameLetter(unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }

std::size_t EditDistance(std::string_view a, std::string_view b) {
  // rows[i][j] is the distance of a's first i letters to b's first j.
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = rows[i - 1][j - 1] + (IsSameLetter(a[i - 1], b[j - 1]) ? 0 : 1);
      rows[i][j] = std::min({replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && IsSameLetter(a[i - 1], b[j - 2]) && IsSameLetter(a[i - 2], b[j - 1]);
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows.back().back();
}

}  // namespace

std::string Nearest(std::string_view word, std::span<const std::string> candidates) {
  const auto best = std::ranges::min_element(
      candidates, {}, [&](const std::string& candidate) { return EditDistance(word, candidate); });
  return best == candidates.end() ? "" : *best;
}

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  const std::string nearest = Nearest(word, candidates);
  if (EditDistance(word, nearest) > std::max(word.size(), nearest.size()) / 3) return "";
  return "; did you mean '" + nearest + "'?";
}

}  // namespace weir
