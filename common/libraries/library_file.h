#pragma once

#include <string>

namespace weir {

/// Returns why a file must not be given to dlopen: it would wait (a pipe) or end the process (a
/// library cut off in a copy, whose missing pages raise SIGBUS). Empty where neither is seen. Files
/// that do not exist or are of another kind are left to dlopen. Thread-safe.
std::string DamageOf(const std::string& path);

}  // namespace weir
