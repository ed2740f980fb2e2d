#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir {

/// The candidate with the fewest letters to insert, delete or replace, or neighbours to swap
/// (Damerau and Levenshtein), of either case, for "did you mean"; the first one of equals, "" when
/// there is none. Thread-safe.
std::string Nearest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean 'density'?" for a message that ends there or goes on with a sentence. "" when
/// even the nearest candidate is too far for a slip: more edits than a third of the longer of the
/// two words. Thread-safe.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

}  // namespace weir
