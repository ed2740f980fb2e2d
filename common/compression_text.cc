#include <string_view>

#include "weir/error.h"
#include "weir/settings.h"

namespace weir {
namespace {

/// A list in brackets is one value, and a pattern in brackets part of its key:
/// sparsity[fc*]=[0.75,0.9].
std::size_t FindOutsideBrackets(std::string_view text, char wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == wanted && depth == 0) return i;
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && depth > 0) --depth;
  }
  return std::string_view::npos;
}

}  // namespace

std::map<std::string, std::string> CompressionFromText(const std::string& text) {
  if (!text.empty() && text.find_first_of("=,") == std::string::npos) return {{"compressor", text}};
  std::map<std::string, std::string> options;
  std::string_view rest = text;
  while (true) {
    const std::string_view item = rest.substr(0, FindOutsideBrackets(rest, ','));
    const std::size_t equals = FindOutsideBrackets(item, '=');
    if (equals == std::string_view::npos || equals == 0) {
      throw InvalidArgument("\"" + std::string(item) + "\" in \"" + text +
                            "\" is not key=value; write a name, as in dgc, or a list, as in "
                            "compressor=topk,k=0.01,ef=vanilla");
    }
    const std::string key(item.substr(0, equals));
    if (!options.emplace(key, item.substr(equals + 1)).second) {
      throw InvalidArgument("\"" + text + "\" gives " + key + " twice; give each key once");
    }
    if (item.size() == rest.size()) return options;
    rest.remove_prefix(item.size() + 1);
  }
}

}  // namespace weir
