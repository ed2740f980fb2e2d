#pragma once

#include <memory>

#include "compression/compressor.h"
#include "compression/options/registry.h"

namespace weir {

/// Makes the compressor that the options name, for one tensor. Throws InvalidArgument for options
/// that contradict each other or do not suit the tensor.
std::unique_ptr<Compressor> MakeCompressor(const ParsedOptions& options, const TensorSpec& tensor);
std::unique_ptr<Compressor> MakeCompressor(const CompressionOptions& options,
                                           const TensorSpec& tensor);

}  // namespace weir
