#pragma once

#include <memory>

#include "compression/codec.h"
#include "compression/compressor.h"
#include "compression/options/options.h"
#include "compression/options/registry.h"

namespace weir {

/// Puts the memories that the options ask for (MemorySpecs) around a codec: momentum, then error
/// feedback, then the codec. A tensor of fewer than min_elements is sent dense, with the same
/// momentum. Throws InvalidArgument for contradictory options.
std::unique_ptr<Compressor> MakeCodecCompressor(std::unique_ptr<const Codec> codec,
                                                const ParsedOptions& options,
                                                const TensorSpec& tensor);

/// Does the same for a codec without options, as a registration needs.
template <class CodecOfNoOptions>
std::unique_ptr<Compressor> MakeAround(const ParsedOptions& options, const TensorSpec& tensor) {
  return MakeCodecCompressor(std::make_unique<CodecOfNoOptions>(), options, tensor);
}

}  // namespace weir
