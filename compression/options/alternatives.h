#pragma once

#include <string>
#include <vector>

#include "compression/options/options.h"

namespace weir {

/// The key "alternatives", whose values are among `names`.
std::vector<OptionSpec> AlternativeSpecs(std::vector<std::string> names);

/// Forms that gradients may travel in where that takes less time: "dense", "fp16". Refuses them
/// beside a route, or a memory, that cannot be left for a step.
std::vector<std::string> AlternativesOf(const ParsedOptions& options);

}  // namespace weir
