#pragma once

#include "compression/options/options.h"

namespace weir {

/// Derives the options of a route=push_pull server's answers from the workers' for the same tensor:
/// the same codec, error feedback, density and value type, so that workers read the answer as they
/// read each other's payloads. Leaves out what the workers have done already: momentum and its
/// options, and randomk's factor.
///
/// Source: BytePS, "gradient compression" (a server has error feedback and the codec, but no
/// momentum). dgc's residual stays, as error feedback does.
CompressionOptions AnswerOptions(const CompressionOptions& workers);

}  // namespace weir
