#include "compression/options/option_rule.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <sstream>
#include <string_view>

#include "common/text/parse_number.h"

namespace weir {
namespace {

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string NumberText(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

struct Describer {
  std::string operator()(const RealRule& rule) const {
    std::string text = "a number ";
    text += (rule.low_open ? "above " : "at least ") + NumberText(rule.low);
    if (std::isfinite(rule.high)) {
      text += (rule.high_open ? " and below " : " and at most ") + NumberText(rule.high);
    }
    return text;
  }
  std::string operator()(const IntegerRule& rule) const {
    std::string text = "a whole number of at least " + std::to_string(rule.low);
    if (rule.high != INT64_MAX) text += " and at most " + std::to_string(rule.high);
    return text;
  }
  std::string operator()(const FlagRule&) const { return "true or false"; }
  std::string operator()(const FlagOrChoiceRule& rule) const {
    ChoiceRule all{{"true", "false"}};
    all.names.insert(all.names.end(), rule.names.begin(), rule.names.end());
    return (*this)(all);
  }
  std::string operator()(const ChoiceRule& rule) const {
    std::string text;
    for (std::size_t i = 0; i < rule.names.size(); ++i) {
      if (i > 0) text += i + 1 == rule.names.size() ? " or " : ", ";
      text += rule.names[i];
    }
    return text;
  }
  std::string operator()(const ChoiceListRule& rule) const {
    return "a comma-separated list of " + (*this)(ChoiceRule{rule.names});
  }
  std::string operator()(const RealListRule& rule) const {
    return "a comma-separated list, each " + (*this)(rule.each);
  }
  std::string operator()(const RealOrAutoRule& rule) const {
    return (*this)(rule.number) + ", or auto";
  }
  std::string operator()(const CountOrFractionRule&) const {
    return "a whole number from 1 to 2^32 - 1, or a fraction above 0 and below 1";
  }
};

constexpr double kLargestCount = UINT32_MAX;  // Entries of the largest tensor.

struct Parser {
  std::string_view text;

  std::optional<OptionValue> operator()(const RealRule& rule) const {
    const auto value = ParseNumber<double>(text);
    // Written so that NaN fails.
    const bool above = value && (rule.low_open ? *value > rule.low : *value >= rule.low);
    const bool below = value && (rule.high_open ? *value < rule.high : *value <= rule.high);
    if (!above || !below || !std::isfinite(*value)) return std::nullopt;
    return *value;
  }
  std::optional<OptionValue> operator()(const IntegerRule& rule) const {
    const auto value = ParseNumber<std::int64_t>(text);
    if (!value || *value < rule.low || *value > rule.high) return std::nullopt;
    return *value;
  }
  std::optional<OptionValue> operator()(const FlagRule&) const {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower == "true" || lower == "1" || lower == "on" || lower == "yes") return true;
    if (lower == "false" || lower == "0" || lower == "off" || lower == "no") return false;
    return std::nullopt;
  }
  std::optional<OptionValue> operator()(const FlagOrChoiceRule& rule) const {
    if (const auto flag = (*this)(FlagRule())) return std::get<bool>(*flag) ? "true" : "false";
    return (*this)(ChoiceRule{rule.names});
  }
  std::optional<OptionValue> operator()(const ChoiceRule& rule) const {
    const auto found = std::ranges::find(rule.names, text);
    if (found == rule.names.end()) return std::nullopt;
    return *found;
  }
  /// Parses each part of a list by the rule; a part's value is a T.
  template <typename T, typename Rule>
  std::optional<std::vector<T>> ListOf(const Rule& each) const {
    std::string_view rest = text;
    if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
    std::vector<T> values;
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      const auto value = Parser{Trimmed(rest.substr(0, comma))}(each);
      if (!value) return std::nullopt;
      values.push_back(std::get<T>(*value));
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
    }
    return values;
  }
  std::optional<OptionValue> operator()(const ChoiceListRule& rule) const {
    const auto names = ListOf<std::string>(ChoiceRule{rule.names});
    if (!names) return std::nullopt;
    for (const std::string& name : *names) {
      if (std::ranges::count(*names, name) > 1) return std::nullopt;
    }
    return *names;
  }
  std::optional<OptionValue> operator()(const RealListRule& rule) const {
    const auto values = ListOf<double>(rule.each);
    if (!values) return std::nullopt;
    return *values;
  }
  std::optional<OptionValue> operator()(const RealOrAutoRule& rule) const {
    if (text == "auto") return std::string(text);
    return (*this)(rule.number);
  }
  std::optional<OptionValue> operator()(const CountOrFractionRule&) const {
    auto value = (*this)(RealRule{0.0, kLargestCount, true});
    if (!value) return std::nullopt;
    const double number = std::get<double>(*value);
    if (number >= 1.0 && number != std::floor(number)) return std::nullopt;
    return value;
  }
};

}  // namespace

std::string Describe(const OptionRule& rule) { return std::visit(Describer{}, rule); }

std::optional<OptionValue> ParseValue(const OptionRule& rule, const std::string& text) {
  return std::visit(Parser{Trimmed(text)}, rule);
}

}  // namespace weir
