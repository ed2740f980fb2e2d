#pragma once

#include <string>

#include "compression/options/options.h"
#include "weir/settings.h"

namespace weir {

/// Checks an optimizer, `owner`, whose program chooses its compression itself: if the
/// settings (WEIR_COMPRESSION) ask for something else, warns that it has no effect. Warns
/// once in a job, on the rank that `speaks`; under strict settings it is an error on all:
/// throws InvalidArgument. Thread-safe.
void CheckProgramsChoice(const std::string& owner, const CompressionOptions& choice,
                         const Settings& settings, bool speaks);

}  // namespace weir
