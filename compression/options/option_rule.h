#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weir {

/// Allowed values of an option. A rule describes itself and parses text.
struct RealRule {
  double low;
  double high;
  bool low_open = false;  ///< `low` itself is refused.
  bool high_open = false;
};
struct IntegerRule {
  std::int64_t low;
  std::int64_t high = INT64_MAX;
};
struct FlagRule {};        ///< true, false, and the spellings of Python and C.
struct FlagOrChoiceRule {  ///< The same, read as "true" and "false", or one of these names.
  std::vector<std::string> names;
};
struct ChoiceRule {
  std::vector<std::string> names;
};
struct ChoiceListRule {  ///< "dense,fp16", brackets and spaces allowed; at least one, none twice.
  std::vector<std::string> names;
};
struct RealListRule {  ///< "0.75,0.9375", brackets and spaces allowed; at least one.
  RealRule each;
};
struct RealOrAutoRule {  ///< A number, or "auto".
  RealRule number;
};
struct CountOrFractionRule {};  ///< 1 to 2^32 - 1, or a fraction above 0 and below 1.
using OptionRule = std::variant<RealRule, IntegerRule, FlagRule, FlagOrChoiceRule, ChoiceRule,
                                ChoiceListRule, RealListRule, RealOrAutoRule, CountOrFractionRule>;

/// Result of a rule: double for reals and count-or-fractions, string for choices and "auto".
using OptionValue = std::variant<double, std::int64_t, bool, std::string, std::vector<double>,
                                 std::vector<std::string>>;

/// "a number above 0 and at most 1", "none, vanilla or nesterov": completes "must be ...".
std::string Describe(const OptionRule& rule);

/// Returns nothing when `text` breaks the rule. Spaces around the value are ignored.
std::optional<OptionValue> ParseValue(const OptionRule& rule, const std::string& text);

}  // namespace weir
