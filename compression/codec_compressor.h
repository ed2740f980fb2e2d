#pragma once

#include <memory>

#include "compression/codec.h"
#include "compression/compressor.h"
#include "compression/options/options.h"
#include "compression/options/registry.h"

namespace weir {

/// Puts the memories that the options ask for (MemorySpecs) around a codec: momentum, then error
/// feedback, then the codec. A tensor of fewer than min_elements travels dense, with the same
/// momentum. Throws InvalidArgument for options that contradict each other.
std::unique_ptr<Compressor> MakeCodecCompressor(std::unique_ptr<const Codec> codec,
                                                const ParsedOptions& options,
                                                const TensorSpec& tensor);

/// The same around a codec that takes no options: what a registration needs to make one.
template <class CodecOfNoOptions>
std::unique_ptr<Compressor> MakeAround(const ParsedOptions& options, const TensorSpec& tensor) {
  return MakeCodecCompressor(std::make_unique<CodecOfNoOptions>(), options, tensor);
}

}  // namespace weir
