#pragma once

#include <string>
#include <vector>

#include "compression/options/registry.h"

namespace weir {

/// Generates docs/reference/compression.md: every key of each of these compressors.
std::string CompressionReference(const std::vector<CompressorInfo>& compressors);

}  // namespace weir
