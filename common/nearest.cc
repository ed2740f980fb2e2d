#include "common/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weir {
namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  // One row of the usual table: row[j] is the distance of a's first i letters to b's first j.
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
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
