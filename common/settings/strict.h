#pragma once

#include <string>
#include <utility>

#include "weir/error.h"

namespace weir {

/// The error that strict settings throw for anything that would otherwise be ignored, or
/// done in another way than asked.
inline InvalidArgument StrictError(const std::string& what, ErrorContext context = {}) {
  return InvalidArgument("strict settings (--strict, WEIR_STRICT): " + what, std::move(context));
}

}  // namespace weir
