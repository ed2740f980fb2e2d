#pragma once

#include <string>
#include <vector>

#include "compression/options/options.h"

namespace weir {

/// The key "alternatives", whose values are among `names`.
std::vector<OptionSpec> AlternativeSpecs(std::vector<std::string> names);

/// Forms that gradients may travel in where that takes less time: "dense", "fp16", "int8",
/// "push_pull". Refuses them beside a route, or a memory, that cannot be left for a step.
std::vector<std::string> AlternativesOf(const ParsedOptions& options);
/// True if what is gathered may be divided among the ranks instead (route=split), which gives the
/// same bits: the options name no route, and values that can be divided.
bool LeavesRouteOpen(const ParsedOptions& options);

/// Puts a compressor in the place of "auto": dgc, or else fp16, or else dense, if it is among its
/// "choices", with the others as its alternatives. Without choices they are dense and fp16, and for
/// SGD with momentum dgc, too. Resolves keys with patterns as well (TensorOptions). Throws
/// InvalidArgument for choices that do not exist.
CompressionOptions ResolveAuto(const CompressionOptions& options, bool momentum_sgd);

}  // namespace weir
