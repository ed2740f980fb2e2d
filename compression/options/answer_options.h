#pragma once

#include "compression/options/options.h"

namespace weir {

/// The options of the compressor with which a server of route=push_pull answers, out of those of
/// the workers' for the same tensor: the same codec, error feedback, density and value type, so
/// that workers read the answer as they read each other's payloads. Left out is what the workers
/// have done already: momentum, what goes with it, and randomk's factor.
///
/// Source: BytePS, "gradient compression" (a server has error feedback and the codec, and no
/// momentum). dgc's residual stays, as error feedback does.
CompressionOptions AnswerOptions(const CompressionOptions& workers);

}  // namespace weir
