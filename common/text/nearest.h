#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir {

/// Finds the candidate with the fewest letters to insert, delete or replace, or neighbours to swap
/// (Damerau and Levenshtein), of either case, for "did you mean". Returns the first of equals, ""
/// when there are no candidates. Thread-safe.
std::string Nearest(std::string_view word, std::span<const std::string> candidates);

/// Returns "; did you mean 'density'?" for a message that ends there or goes on with a sentence.
/// Returns "" when the nearest candidate is too far for a slip: its edits exceed a third of the
/// longer of the two words. Thread-safe.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

}  // namespace weir
