#pragma once

#include "compression/options.h"
#include "weir/settings.h"

namespace weir {

/// For an optimizer whose program chooses its compression itself: says, where the settings
/// (WEIR_COMPRESSION) ask for another one, that this has no effect. Under strict settings that is
/// an error: throws InvalidArgument. Thread-safe.
void CheckProgramsChoice(const CompressionOptions& choice, const Settings& settings, int rank);

}  // namespace weir
