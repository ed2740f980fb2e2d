#include "common/settings/compression_text.h"

#include <algorithm>
#include <string_view>

#include "weir/error.h"
#include "weir/settings.h"

namespace weir {
namespace {

/// Finds `wanted`. A list in brackets is one value, and a pattern in brackets part of its
/// key: sparsity[fc*]=[0.75,0.9].
std::size_t FindOutsideBrackets(std::string_view text, char wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == wanted && depth == 0) return i;
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && depth > 0) --depth;
  }
  return std::string_view::npos;
}

bool HasOpenBracket(std::string_view text) {
  return std::ranges::count(text, '[') > std::ranges::count(text, ']');
}

/// Says why an item of a list is not an option.
std::string FaultOf(std::string_view item) {
  const std::string quoted = "\"" + std::string(item) + "\"";
  if (item.empty()) return "there is a comma with nothing before or after it";
  if (HasOpenBracket(item)) return "the bracket in " + quoted + " is not closed";
  const bool number = item.find_first_of("0123456789+-.") == 0;
  return quoted + " is not key=value" +
         (number ? ": write a list of numbers in brackets, as in sparsity=[0.75,0.999]"
                 : ": if that is a compressor, write compressor=" + std::string(item));
}

}  // namespace

std::map<std::string, std::string> CompressionFromText(const std::string& text) {
  if (!text.empty() && text.find_first_of("=,") == std::string::npos && !HasOpenBracket(text)) {
    return {{"compressor", text}};
  }
  if (text.starts_with("auto(") && text.ends_with(')')) {
    return {{"compressor", "auto"}, {"choices", text.substr(5, text.size() - 6)}};
  }
  std::map<std::string, std::string> options;
  std::string_view rest = text;
  while (true) {
    const std::string_view item = rest.substr(0, FindOutsideBrackets(rest, ','));
    const std::size_t equals = FindOutsideBrackets(item, '=');
    if (equals == std::string_view::npos || equals == 0 || HasOpenBracket(item)) {
      throw InvalidArgument("\"" + text + "\" is not a list of compression options: " +
                            (text.empty() ? "it is empty" : FaultOf(item)));
    }
    const std::string key(item.substr(0, equals));
    if (!options.emplace(key, item.substr(equals + 1)).second) {
      throw InvalidArgument("\"" + text + "\" gives " + key + " twice; give each key once");
    }
    if (item.size() == rest.size()) return options;
    rest.remove_prefix(item.size() + 1);
  }
}

std::string CompressionText(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [key, value] : options) {
    const bool list = value.find(',') != std::string::npos && !value.starts_with('[');
    text += (text.empty() ? "" : ",") + key + "=" + (list ? "[" + value + "]" : value);
  }
  return text;
}

}  // namespace weir
