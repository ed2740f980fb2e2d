#include <string_view>

#include "weir/error.h"
#include "weir/settings.h"

namespace weir {

std::map<std::string, std::string> CompressionFromText(const std::string& text) {
  if (!text.empty() && text.find_first_of("=,") == std::string::npos) return {{"compressor", text}};
  std::map<std::string, std::string> options;
  std::string_view rest = text;
  while (true) {
    // A list in brackets is one value: sparsity=[0.75,0.9].
    std::size_t end = rest.find(',');
    if (const std::size_t open = rest.find('['); open < end) end = rest.find(',', rest.find(']'));
    const std::string_view item = rest.substr(0, end);
    const std::size_t equals = item.find('=');
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
