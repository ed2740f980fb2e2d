#include "compression/options/alternatives.h"

#include <utility>

namespace weir {

std::vector<OptionSpec> AlternativeSpecs(std::vector<std::string> names) {
  return {{"alternatives", "", ChoiceListRule{std::move(names)},
           "Forms in which a bucket of gradients may travel instead, whole, in the steps in which "
           "that takes less time, as measured (compression=auto gives them)."}};
}

std::vector<std::string> AlternativesOf(const ParsedOptions& options) {
  if (!options.Has("alternatives")) return {};
  const std::string& route = options.Choice("route");
  if (route == "push_pull" || route == "hierarchical") {
    options.Refuse("alternatives",
                   "need a route on which each rank keeps what it has not sent, and "
                   "route=" +
                       route + " is not: leave one of them out");
  }
  for (const char* key : {"ef", "momentum"}) {
    if (options.compressor() == "dgc" || options.Choice(key) == "none") continue;
    options.Refuse("alternatives", std::string("would leave what ") + key +
                                       " remembers behind: leave one of them out");
  }
  return options.ChoiceList("alternatives");
}

}  // namespace weir
